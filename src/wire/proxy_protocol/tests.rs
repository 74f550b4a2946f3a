use super::*;

fn client(text: &str) -> Origin {
    Origin::Client(text.parse().unwrap())
}

/// Signature, version and command, family, and what is behind.
fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    out.extend([command, family]);
    out.extend((body.len() as u16).to_be_bytes());
    out.extend(body);
    out
}

fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend((value.len() as u16).to_be_bytes());
    out.extend(value);
    out
}

const V4: [u8; 12] = [10, 1, 2, 3, 10, 0, 0, 5, 0x12, 0x34, 0x0c, 0xea];

fn v6() -> Vec<u8> {
    let source: Ipv6Addr = "2001:db8::7".parse().unwrap();
    let mut out = source.octets().to_vec();
    out.extend(Ipv6Addr::LOCALHOST.octets());
    out.extend([0x12, 0x34, 0x0c, 0xea]);
    out
}

/// Every header of both versions that has to be understood, and what it says.
fn good() -> Vec<(Vec<u8>, Origin)> {
    let text = |line: &str| line.as_bytes().to_vec();
    let with_tlvs = [&V4[..], &tlv(0xe0, b"unknown"), &tlv(0x04, &[0; 300])].concat();
    let mapped: [u8; 16] = "::ffff:10.1.2.3".parse::<Ipv6Addr>().unwrap().octets();
    let mapped = [&mapped[..], &mapped, &[0x12, 0x34, 0, 1]].concat();
    let longest = text("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n");
    vec![
        (
            text("PROXY TCP4 10.1.2.3 10.0.0.5 4660 3306\r\n"),
            client("10.1.2.3:4660"),
        ),
        (
            text("PROXY TCP6 2001:db8::7 ::1 4660 3306\r\n"),
            client("[2001:db8::7]:4660"),
        ),
        (
            text("PROXY TCP6 ::ffff:10.1.2.3 ::1 4660 3306\r\n"),
            client("10.1.2.3:4660"),
        ),
        (
            longest,
            client("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"),
        ),
        (text("PROXY UNKNOWN\r\n"), Origin::Own),
        (
            b"PROXY UNKNOWN ffff::1 what\xffever\r\n".to_vec(),
            Origin::Own,
        ),
        (v2(0x21, 0x11, &V4), client("10.1.2.3:4660")),
        (v2(0x21, 0x12, &V4), client("10.1.2.3:4660")),
        (v2(0x21, 0x21, &v6()), client("[2001:db8::7]:4660")),
        (v2(0x21, 0x21, &mapped), client("10.1.2.3:4660")),
        (v2(0x21, 0x11, &with_tlvs), client("10.1.2.3:4660")),
        (v2(0x21, 0x31, &[0; 216]), Origin::Own),
        (v2(0x21, 0x00, &[]), Origin::Own),
        // whatever stands behind UNSPEC is skipped
        (v2(0x21, 0x00, b"anything"), Origin::Own),
        (v2(0x20, 0x00, &[]), Origin::Own),
        (v2(0x20, 0x11, &V4), Origin::Own),
        (v2(0x20, 0xff, b"anything"), Origin::Own),
    ]
}

#[test]
fn headers_of_both_versions_are_understood_in_any_pieces_and_what_follows_is_left() {
    for (header, origin) in good() {
        let n = header.len();
        let mut bytes = header.clone();
        bytes.extend(b"PROXY and what the client itself says\r\n");
        assert_eq!(parse(&bytes), Ok(Some((n, origin))), "{header:?}");
        for cut in 0..n {
            assert_eq!(parse(&bytes[..cut]), Ok(None), "{cut} of {header:?}");
        }
        assert!(begins(&header[..4]));
    }
}

#[test]
fn what_is_no_header_or_contradicts_itself_is_refused() {
    let v1 = [
        "PROXY TCP4 10.1.2.3 10.0.0.5 4660\r\n",
        "PROXY TCP4 10.1.2.3 10.0.0.5 4660 3306 1\r\n",
        "PROXY TCP4  10.1.2.3 10.0.0.5 4660 3306\r\n",
        "PROXY TCP4 10.1.2.3 10.0.0.5 4660 65536\r\n",
        "PROXY TCP4 10.1.2.3 10.0.0.5 -1 3306\r\n",
        "PROXY TCP4 10.1.2.3 10.0.0.5 +1 3306\r\n",
        "PROXY TCP4 10.1.2.3 10.0.0.5 01 3306\r\n",
        "PROXY TCP4 10.1.2.3 10.0.0.5  3306\r\n",
        "PROXY TCP4 10.1.2 10.0.0.5 1 3306\r\n",
        "PROXY TCP4 010.1.2.3 10.0.0.5 1 3306\r\n",
        "PROXY TCP4 ::1 ::1 1 3306\r\n",
        "PROXY TCP6 10.1.2.3 10.0.0.5 1 3306\r\n",
        "PROXY UDP4 10.1.2.3 10.0.0.5 1 3306\r\n",
        "PROXY \r\n",
        "PROXY\r\n",
        "proxy UNKNOWN\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "\u{16}\u{3}\u{1}",
    ];
    for text in v1 {
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
    let endless = format!("PROXY UNKNOWN {}", "a".repeat(200));
    assert!(parse(endless.as_bytes()).is_err());
    assert_eq!(parse(&endless.as_bytes()[..106]), Ok(None));
    for bytes in [
        v2(0x11, 0x11, &V4),
        v2(0x31, 0x11, &V4),
        v2(0x22, 0x11, &V4),
        v2(0x21, 0x13, &V4),
        v2(0x21, 0x41, &V4),
        v2(0x21, 0x01, &V4),
        v2(0x21, 0x11, &V4[..11]),
        v2(0x21, 0x21, &V4),
        v2(0x21, 0x31, &V4),
        v2(0x21, 0x11, &[&V4[..], &[0xe0]].concat()),
        v2(0x21, 0x11, &[&V4[..], &[0xe0, 0, 5, 1]].concat()),
        v2(0x21, 0x11, &[&V4[..], &tlv(CRC32C, &[0; 4])].concat()),
        v2(0x21, 0x11, &[&V4[..], &tlv(CRC32C, &[0; 3])].concat()),
        b"\r\n\r\n\0\r\nQUIT\r".to_vec(),
        b"\r\n\r\n\r".to_vec(),
    ] {
        assert!(parse(&bytes).is_err(), "{bytes:?}");
    }
    // refused by its announcement, before the bytes come
    let announced = [&SIGNATURE[..], &[0x21, 0x11, 0xff, 0xff]].concat();
    assert!(parse(&announced).is_err());
}

#[test]
fn a_checksum_is_checked() {
    // RFC 3720, B.4: 32 zeros
    assert_eq!(crc32c(&[0; 32], 100), 0x8a91_36aa);
    let mut header = v2(0x21, 0x11, &[&V4[..], &tlv(CRC32C, &[0; 4])].concat());
    let n = header.len();
    let sum = crc32c(&header, n - 4);
    header[n - 4..].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(parse(&header), Ok(Some((n, client("10.1.2.3:4660")))));
    // but for the TLV's type: of another type it would be skipped
    for at in (16..n).filter(|at| *at != 28) {
        header[at] ^= 1;
        assert!(parse(&header).is_err(), "{at}");
        header[at] ^= 1;
    }
}

#[test]
fn what_is_told_to_servers_is_what_they_read() {
    let to: SocketAddr = "10.0.0.5:3306".parse().unwrap();
    let to6: SocketAddr = "[fd00::5]:3306".parse().unwrap();
    for version in [Version::V1, Version::V2] {
        for origin in [
            Origin::Own,
            client("10.1.2.3:4660"),
            client("[2001:db8::7]:1"),
        ] {
            for to in [to, to6] {
                let header = header(version, origin, to);
                assert_eq!(parse(&header), Ok(Some((header.len(), origin))));
            }
        }
    }
    assert_eq!(
        header(Version::V1, client("10.1.2.3:4660"), to),
        b"PROXY TCP4 10.1.2.3 10.0.0.5 4660 3306\r\n"
    );
    assert_eq!(
        header(Version::V2, client("10.1.2.3:4660"), to),
        v2(0x21, 0x11, &V4)
    );
}

/// Seeded changes of good headers: whatever comes, it is a header, none, or not yet one, and never a panic.
#[test]
fn changed_headers_never_panic_and_never_claim_more_than_there_is() {
    let mut seed = 7u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize
    };
    for _ in 0..200_000 {
        let all = good();
        let mut bytes = all[random() % all.len()].0.clone();
        for _ in 0..random() % 4 {
            let at = random() % bytes.len();
            bytes[at] = random() as u8;
        }
        bytes.truncate(random() % (bytes.len() + 1));
        if let Ok(Some((n, _))) = parse(&bytes) {
            assert!(n <= bytes.len() && n <= LONGEST);
        }
    }
}
