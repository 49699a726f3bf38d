use std::{fs, process::Command, sync::mpsc, thread, time::Duration};
fn main() {
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = (0..4).map(|i| { let send = send.clone(); thread::spawn(move || { thread::sleep(Duration::from_millis(1)); send.send(i).unwrap() }) }).collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(receive.try_iter().sum::<i32>(), 6);
    assert_eq!(Command::new("echo").arg("hi").output().unwrap().stdout, b"hi\n");
    fs::create_dir_all("a/b").unwrap();
    fs::write("a/b/c", "x").unwrap();
    fs::copy("a/b/c", "a/d").unwrap();
    fs::rename("a/d", "a/e").unwrap();
    fs::remove_dir_all("a").unwrap();
    let map: std::collections::HashMap<i32, i32> = (0..9).map(|i| (i, i)).collect();
    assert_eq!((map.len(), thread::available_parallelism().unwrap().get() > 0), (9, true));
    println!("well");
}
