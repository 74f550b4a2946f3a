//! Packets and headers: what was decoded can be encoded and decoded again.
use super::with_capabilities;
use std::net::SocketAddr;
use umpire::wire::column::{decode_count, Column};
use umpire::wire::handshake::{is_ssl_request, ChangeUser, Greeting, Response};
use umpire::wire::packet::{frame as framed, Assembler};
use umpire::wire::prepare::{with_types, Execute, PrepareOk};
use umpire::wire::proxy_protocol::{header, parse, Version, LONGEST};
use umpire::wire::query::text_offset;
use umpire::wire::reply::{Err, Login, Ok};
use umpire::wire::row;

/// Bytes in two pieces through the assembler: what comes out, framed again, is what went in.
pub fn frame(data: &[u8]) {
    let [split, data @ ..] = data else { return };
    let (head, tail) = data.split_at(data.len().min(usize::from(*split)));
    let mut assembler = Assembler::new(1 << 20);
    let mut out = Vec::new();
    for piece in [head, tail] {
        if assembler.push(piece).is_err() {
            return;
        }
        while let Some((sequence, payload)) = assembler.pop() {
            framed(&payload, sequence, &mut out);
        }
    }
    out.extend(assembler.rest());
    assert_eq!(out, data);
}

/// What a client sends to log in. First eight bytes: the capabilities that COM_CHANGE_USER is read with.
pub fn client_login(data: &[u8]) {
    let Some((capabilities, data)) = with_capabilities(data) else {
        return;
    };
    is_ssl_request(data);
    if let Result::Ok(response) = Response::decode(data) {
        assert_eq!(Response::decode(&response.encode()), Result::Ok(response));
    }
    if let Result::Ok(change) = ChangeUser::decode(data, capabilities) {
        let encoded = change.encode(capabilities);
        assert_eq!(
            ChangeUser::decode(&encoded[1..], capabilities),
            Result::Ok(change)
        );
    }
}

/// What a server sends while Umpire logs in there. First eight bytes: capabilities.
pub fn server_login(data: &[u8]) {
    let Some((capabilities, data)) = with_capabilities(data) else {
        return;
    };
    if let Result::Ok(greeting) = Greeting::decode(data) {
        assert!(Greeting::decode(&greeting.encode()).is_ok());
    }
    let _ = Login::decode(data, capabilities);
}

/// OK, ERR and the prepared statements' packets. First eight bytes: capabilities.
pub fn reply(data: &[u8]) {
    let Some((capabilities, data)) = with_capabilities(data) else {
        return;
    };
    if let Result::Ok(ok) = Ok::decode(data, capabilities) {
        let encoded = ok.encode(capabilities);
        let again = Ok::decode(&encoded, capabilities).expect("what was encoded can be decoded");
        assert_eq!(again.encode(capabilities), encoded);
    }
    if let Result::Ok(error) = Err::decode(data) {
        assert_eq!(Err::decode(&error.encode()), Result::Ok(error));
    }
    let _ = PrepareOk::decode(data);
    let _ = text_offset(data, capabilities);
    let parameters = u16::from(data.first().copied().unwrap_or(0));
    if let Result::Ok(execute) = Execute::decode(data, parameters, capabilities) {
        if let (Some(at), None) = (execute.bound_flag_at, execute.types) {
            with_types(data, at, &[3, 0]);
        }
    }
}

/// Column definitions and rows of both protocols. First eight bytes: capabilities; the next: columns.
pub fn rows(data: &[u8]) {
    let Some((capabilities, [columns, data @ ..])) = with_capabilities(data) else {
        return;
    };
    let _ = decode_count(data);
    if let Result::Ok(column) = Column::decode(data, capabilities) {
        let encoded = column.encode(capabilities);
        let again =
            Column::decode(&encoded, capabilities).expect("what was encoded can be decoded");
        assert_eq!(again.encode(capabilities), encoded);
    }
    let columns = usize::from(*columns);
    let mut spans = Vec::new();
    if row::walk_text(data, columns, &mut spans).is_ok() {
        let mut out = Vec::new();
        for span in &spans {
            row::put_text(span.of(data), &mut out);
        }
        let mut again = Vec::new();
        assert!(row::walk_text(&out, columns, &mut again).is_ok());
    }
    // the types are the row's own first bytes: any of them
    let kinds = data.get(..columns).unwrap_or_default();
    let _ = row::walk_binary(data, kinds, &mut spans);
}

/// A PROXY header: whole, in pieces, and as Umpire itself writes it.
pub fn proxy_header(data: &[u8]) {
    let whole = parse(data);
    if let Result::Ok(Some((length, origin))) = whole {
        assert!(length <= data.len() && length <= LONGEST);
        for cut in 0..length {
            assert_eq!(parse(&data[..cut]), Result::Ok(None), "{cut}");
        }
        let to = SocketAddr::from(([10, 0, 0, 1], 3306));
        for version in [Version::V1, Version::V2] {
            let written = header(version, origin, to);
            assert_eq!(parse(&written), Result::Ok(Some((written.len(), origin))));
        }
    }
}
