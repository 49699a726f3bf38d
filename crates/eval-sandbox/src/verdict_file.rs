//! The file that a program writes its verdict to, where other code shares its sandbox. Its content
//! counts only if the file was opened once: another process could replace what the program wrote.
//!
//! The minder makes the file and watches it. An event that equals the one before it is dropped by the
//! kernel, so the folder is watched, too: the two events of an opening alternate. An opening by
//! another name needs a link, which is an event of the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Bytes that are read of it.
const MOST_BYTES: u64 = 1 << 20;

pub(super) struct VerdictFile {
    name: String,
    file: File,
    events: OwnedFd,
    of_folder: i32,
    of_file: i32,
}

/// What a program left in its file.
pub(super) enum VerdictContent {
    /// The file was opened once; this is what was written to it.
    Sole(Vec<u8>),
    /// It was not opened.
    Absent,
    /// It was opened several times, moved, linked or deleted.
    Doubted,
}

impl VerdictFile {
    /// Makes an empty file, which must not exist.
    pub fn make(folder: &Path, name: &str) -> io::Result<VerdictFile> {
        let path = folder.join(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR)?;
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let opened = WatchFlags::OPEN | WatchFlags::CLOSE;
        let gone = WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF;
        let names = WatchFlags::MOVE | WatchFlags::CREATE | WatchFlags::DELETE;
        let of_folder = inotify::add_watch(&events, folder, opened | gone | names)?;
        let of_file = inotify::add_watch(&events, &path, opened | gone | WatchFlags::ATTRIB)?;
        Ok(VerdictFile {
            name: name.to_owned(),
            file: file.into(),
            events,
            of_folder,
            of_file,
        })
    }

    /// What is in it, once no process of the job is alive.
    pub fn read(mut self) -> io::Result<VerdictContent> {
        let (mut opened, mut closed) = ([0; 2], [0; 2]);
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        loop {
            let event = match reader.next() {
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(event) => event,
            };
            let flags = event.events();
            let name = event.file_name();
            let at = match event.wd() {
                watch if watch == self.of_file => 1,
                watch if watch == self.of_folder => match name {
                    Some(name) if name.to_bytes() == self.name.as_bytes() => 0,
                    // Another file.
                    Some(_) => continue,
                    None if flags.intersects(ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF) => {
                        return Ok(VerdictContent::Doubted);
                    }
                    None => continue,
                },
                // There were too many events.
                _ => return Ok(VerdictContent::Doubted),
            };
            let counts = if flags.contains(ReadFlags::OPEN) {
                &mut opened
            } else if flags.contains(ReadFlags::CLOSE_WRITE) {
                &mut closed
            } else {
                return Ok(VerdictContent::Doubted);
            };
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
        if opened == [0; 2] {
            return Ok(VerdictContent::Absent);
        }
        if opened != [1; 2] || closed != [1; 2] {
            return Ok(VerdictContent::Doubted);
        }
        let mut content = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.take(MOST_BYTES).read_to_end(&mut content)?;
        Ok(VerdictContent::Sole(content))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    fn left(act: impl FnOnce(&Path)) -> String {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("results");
        fs::create_dir_all(folder.join("more")).unwrap();
        let verdict = VerdictFile::make(&folder, "v.json").unwrap();
        act(&folder.join("v.json"));
        match verdict.read().unwrap() {
            VerdictContent::Sole(content) => String::from_utf8(content).unwrap(),
            VerdictContent::Absent => "absent".to_owned(),
            VerdictContent::Doubted => "doubted".to_owned(),
        }
    }

    #[test]
    fn file_that_is_opened_once_has_its_content() {
        assert_eq!(left(|path| fs::write(path, "a").unwrap()), "a");
        assert_eq!(left(|_| {}), "absent");
        let others = |path: &Path| {
            fs::write(path.with_file_name("other"), "b").unwrap();
            fs::rename(path.with_file_name("other"), path.with_file_name("third")).unwrap();
            fs::write(path, "a").unwrap();
        };
        assert_eq!(left(others), "a");
        let twice_by_one = |path: &Path| {
            let mut file = File::options().write(true).open(path).unwrap();
            file.write_all(b"a").unwrap();
            file.write_all(b"b").unwrap();
        };
        assert_eq!(left(twice_by_one), "ab");
    }

    #[test]
    fn file_that_another_process_could_have_written_is_doubted() {
        type Act = Box<dyn FnOnce(&Path)>;
        let write = |path: &Path| fs::write(path, "a").unwrap();
        let acts: Vec<(&str, Act)> = vec![
            (
                "twice",
                Box::new(move |path| [path; 2].map(write).into_iter().collect()),
            ),
            (
                "read",
                Box::new(move |path| {
                    write(path);
                    fs::read(path).unwrap();
                }),
            ),
            (
                "both open",
                Box::new(|path| {
                    let open = || File::options().write(true).open(path).unwrap();
                    let mut files = [open(), open()];
                    files[0].write_all(b"a").unwrap();
                }),
            ),
            (
                "by a link",
                Box::new(move |path| {
                    let link = path.with_file_name("more").join("link");
                    fs::hard_link(path, &link).unwrap();
                    write(&link);
                    fs::remove_file(link).unwrap();
                }),
            ),
            (
                "by a link, also",
                Box::new(move |path| {
                    let link = path.with_file_name("more").join("link");
                    fs::hard_link(path, &link).unwrap();
                    let files =
                        [path, &link].map(|path| File::options().write(true).open(path).unwrap());
                    drop(files);
                }),
            ),
            (
                "replaced",
                Box::new(move |path| {
                    fs::write(path.with_file_name("new"), "b").unwrap();
                    fs::rename(path.with_file_name("new"), path).unwrap();
                }),
            ),
            (
                "moved",
                Box::new(move |path| {
                    let other = path.with_file_name("other");
                    fs::rename(path, &other).unwrap();
                    fs::write(path, "theirs").unwrap();
                    fs::rename(&other, path).unwrap();
                    write(path);
                }),
            ),
            (
                "folder moved",
                Box::new(move |path| {
                    let (folder, other) = (
                        path.parent().unwrap(),
                        path.parent().unwrap().with_file_name("other"),
                    );
                    fs::rename(folder, &other).unwrap();
                    fs::create_dir(folder).unwrap();
                    fs::write(path, "theirs").unwrap();
                    fs::remove_dir_all(folder).unwrap();
                    fs::rename(other, folder).unwrap();
                    write(path);
                }),
            ),
            (
                "deleted",
                Box::new(move |path| {
                    fs::remove_file(path).unwrap();
                    write(path);
                }),
            ),
            (
                "flooded",
                Box::new(move |path| {
                    for n in 0..20_000 {
                        drop(fs::File::create(path.with_file_name(format!("{}", n % 7))));
                    }
                    write(path);
                    write(path);
                }),
            ),
        ];
        for (what, act) in acts {
            assert_eq!(left(act), "doubted", "{what}");
        }
    }
}
