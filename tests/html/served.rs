//! The program as a server of pages, with its token.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::support::{Project, eventually};

pub struct PageServer {
    child: Child,
    /// With the token.
    pub url: String,
}

impl PageServer {
    /// Starts a verb that prints the address of its page.
    pub fn start(project: &Project, arguments: &[&str]) -> PageServer {
        let mut command = project.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut url = String::new();
        let stdout = child.stdout.as_mut().expect("stdout");
        BufReader::new(stdout).read_line(&mut url).expect("a line");
        let url = url.trim_end().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url:?}");
        PageServer { child, url }
    }

    pub fn host(&self) -> &str {
        self.url.split('/').nth(2).expect("a host")
    }

    /// The header with the token.
    pub fn cookie(&self) -> String {
        let port = self.host().rsplit(':').next().expect("a port");
        let token = self.url.rsplit("token=").next().expect("a token");
        format!("Cookie: eval-harness-{port}={token}")
    }

    /// The response to a request, which has the token as a cookie.
    pub fn get(&self, address: &str) -> String {
        self.request(&format!("GET {address}"), &[&self.cookie()], "")
    }

    /// The response to a request with these headers.
    pub fn request(&self, line: &str, headers: &[&str], body: &str) -> String {
        asked(self.host(), line, headers, body)
    }

    /// A page, once every run is read.
    pub fn settled(&self, address: &str) -> String {
        let mut page = String::new();
        eventually("every run is read", || {
            page = self.get(address);
            !page.contains("still to be read")
        });
        page
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("it ends");
    }

    /// Ctrl-C; the exit code.
    pub fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.expect("kill").success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The response of a server; `Host` is its address unless a header says otherwise.
pub fn asked(host: &str, line: &str, headers: &[&str], body: &str) -> String {
    attempted(host, line, headers, body).expect("a response")
}

/// The same of a server that may be gone.
pub fn attempted(host: &str, line: &str, headers: &[&str], body: &str) -> Option<String> {
    let own = format!("Host: {host}");
    let mut all = headers.to_vec();
    if !headers.iter().any(|header| header.starts_with("Host:")) {
        all.push(&own);
    }
    let mut stream = TcpStream::connect(host).ok()?;
    let (headers, length) = (all.join("\r\n"), body.len());
    write!(
        stream,
        "{line} HTTP/1.1\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    Some(response)
}
