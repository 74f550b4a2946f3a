//! The captured exchanges of `testdata/`, parsed, for the tests of this module.

pub const FILES: [&str; 2] = [
    include_str!("testdata/mariadb-10.11.txt"),
    include_str!("testdata/mysql-9.7.txt"),
];

/// One command and its whole reply.
pub struct Case {
    pub name: String,
    pub command: u8,
    pub capabilities: u64,
    pub sent: Vec<u8>,
    /// More than one where the client had to send something in between.
    pub replies: Vec<Vec<u8>>,
}

/// One login without TLS.
pub struct Login {
    pub name: String,
    pub capabilities: u64,
    pub greeting: Vec<u8>,
    pub response: Vec<u8>,
    pub server: Vec<Vec<u8>>,
}

pub fn cases() -> Vec<Case> {
    blocks("case ").map(case).collect()
}

pub fn case_named(file: usize, name: &str) -> Case {
    let found = FILES[file]
        .split("\n\n")
        .find(|block| block.starts_with(&format!("case {name} command=")));
    case(found.unwrap_or_else(|| panic!("no case {name}")))
}

pub fn logins() -> Vec<Login> {
    blocks("login ").map(login).collect()
}

/// The payloads of whole packets.
pub fn payloads(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut payloads = Vec::new();
    while let Some(header) = super::packet::Header::decode(bytes) {
        let (packet, rest) = bytes.split_at(4 + header.length);
        payloads.push(&packet[4..]);
        bytes = rest;
    }
    payloads
}

fn blocks(kind: &'static str) -> impl Iterator<Item = &'static str> {
    let all = FILES.iter().flat_map(|file| file.split("\n\n"));
    all.filter(move |block| block.starts_with(kind))
}

fn case(block: &str) -> Case {
    let (head, capabilities) = block.lines().next().unwrap().split_once(" caps=").unwrap();
    let (name, command) = head.split_once(" command=").unwrap();
    Case {
        name: name["case ".len()..].to_owned(),
        command: u8::from_str_radix(command, 16).unwrap(),
        capabilities: u64::from_str_radix(capabilities, 16).unwrap(),
        sent: lines(block, "sent ").remove(0),
        replies: lines(block, "reply "),
    }
}

fn login(block: &str) -> Login {
    let (name, capabilities) = block.lines().next().unwrap().split_once(" caps=").unwrap();
    Login {
        name: name["login ".len()..].to_owned(),
        capabilities: u64::from_str_radix(capabilities, 16).unwrap(),
        greeting: lines(block, "greeting ").remove(0),
        response: lines(block, "response ").remove(0),
        server: lines(block, "server "),
    }
}

fn lines(block: &str, key: &str) -> Vec<Vec<u8>> {
    let values = block.lines().filter_map(|line| line.strip_prefix(key));
    values.map(bytes).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
