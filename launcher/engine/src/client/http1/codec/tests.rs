use http::{HeaderValue, Method};
use proptest::prelude::*;

use super::*;

/// The parsed response: status, body, whether the body has ended, and the number of bytes after its end.
type Read = (u16, Vec<u8>, bool, usize);

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Read, Malformed> {
    let (mut head, mut start, mut found, mut after) = (Vec::new(), None::<Start>, Vec::new(), 0);
    for piece in pieces {
        let mut rest = piece.to_vec();
        if start.is_none() {
            head.extend_from_slice(piece);
            start = read_head(&head)?;
            rest = start.as_ref().map(|it| head[it.length..].to_vec()).unwrap_or_default();
        }
        if let Some(start) = &mut start {
            let taken = start.body.push(&rest, |bytes| found.extend_from_slice(bytes))?;
            after += rest.len() - taken;
        }
    }
    let start = start.ok_or(Malformed("no head"))?;
    Ok((start.head.status, found, start.body.has_ended(), after))
}

/// Checks that the result does not depend on how the bytes are split into pieces.
fn check(answer: &[u8], body: &[u8], ended: bool, after: usize) {
    let whole = read([answer]);
    assert_eq!(whole, Ok((200, body.to_vec(), ended, after)), "{}", String::from_utf8_lossy(answer));
    assert_eq!(read(answer.chunks(1)), whole, "byte by byte");
    for cut in 0..answer.len() {
        assert_eq!(read([&answer[..cut], &answer[cut..]]), whole, "cut at {cut}");
    }
}

fn check_error(answer: &str, expected: &str) {
    assert_eq!(read([answer.as_bytes()]).unwrap_err().to_string(), expected, "{answer:?}");
    assert_eq!(read(answer.as_bytes().chunks(1)).unwrap_err().to_string(), expected, "{answer:?} byte by byte");
}

fn keeps_alive(head: &str) -> bool {
    read_head(format!("{head}\r\n\r\n").as_bytes()).unwrap().unwrap().keep_alive
}

#[test]
fn a_body_has_the_length_that_its_head_gives() {
    check(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", b"hello", true, 0);
    check(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", true, 0);
    check(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel", b"hel", false, 0);
    check(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhello", b"he", true, 3);
    check(b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello", false, 0);
}

#[test]
fn chunks_are_joined_and_their_framing_is_taken_off() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let with = |body: &[u8]| [head.as_slice(), body].concat();
    check(&with(b"5\r\nhello\r\n1;a=\"b\"\r\n!\r\n0\r\n\r\n"), b"hello!", true, 0);
    check(&with(b"00A \r\n0123456789\r\n0\r\nx-trailer: 1\r\ny: 2\r\n\r\n"), b"0123456789", true, 0);
    check(&with(b"a\n0123456789\n0\n\n"), b"0123456789", true, 0);
    check(&with(b"5\r\nhel"), b"hel", false, 0);
    check(&with(b"0\r\n\r\nHTTP"), b"", true, 4);
}

#[test]
fn interim_answers_are_passed_over_and_some_answers_have_no_body() {
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
    check(&[interim.as_slice(), b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na"].concat(), b"a", true, 0);
    let none = read([b"HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n".as_slice()]);
    assert_eq!(none, Ok((204, Vec::new(), true, 0)));
}

#[test]
fn a_connection_is_kept_unless_the_answer_says_otherwise() {
    assert!(keeps_alive("HTTP/1.1 200 OK\r\ncontent-length: 1"));
    assert!(keeps_alive("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 1"));
    assert!(keeps_alive("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked"));
    assert!(!keeps_alive("HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 1"));
    assert!(!keeps_alive("HTTP/1.0 200 OK\r\ncontent-length: 1"));
    assert!(!keeps_alive("HTTP/1.1 200 OK"));
    assert!(!keeps_alive("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip"));
    assert!(!keeps_alive("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 1"));
}

#[test]
fn what_is_no_answer_says_why() {
    check_error("SSH-2.0-OpenSSH_9.9\r\n", "the answer is no HTTP");
    check_error("HTTP/1.1 101 Switching Protocols\r\n\r\n", "the server switches to a protocol that was not requested");
    check_error("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "the answer's content-length is no number");
    check_error(
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "the answer has two different content-length headers",
    );
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for size in ["\r\n", "x\r\n", "5x\r\n", "11111111111111111\r\n", "-1\r\n"] {
        check_error(&format!("{head}{size}"), "a chunk of the answer has no size");
    }
    check_error(&format!("{head}1\r\nab"), "a chunk of the answer is longer than its size");
    let endless = format!("{head}1;{}", "a".repeat(MAX_FRAMING));
    assert!(read([endless.as_bytes()]).unwrap_err().to_string().contains("lines without an end"));
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(MAX_HEAD));
    assert!(read_head(long.as_bytes()).unwrap_err().to_string().contains("64 KiB"));
    let trailers = format!("{head}0\r\n{}", "a: b\r\n".repeat(MAX_FRAMING / 6 + 1));
    assert!(read([trailers.as_bytes()]).is_err());
}

#[test]
fn a_request_is_written_with_its_length() {
    let mut request = Request::new(Bytes::from_static(b"{}"));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "/v1/completions".parse().unwrap();
    request.headers_mut().insert("host", HeaderValue::from_static("server:80"));
    let head = write_head(&request);
    assert_eq!(
        String::from_utf8(head).unwrap(),
        "POST /v1/completions HTTP/1.1\r\nhost: server:80\r\ncontent-length: 2\r\n\r\n"
    );
}

proptest! {
    #[test]
    fn a_body_does_not_depend_on_how_its_bytes_were_chunked_and_cut(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        cuts in prop::collection::vec(0_usize..600, 0..12),
    ) {
        let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            answer.extend_from_slice(chunk);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|it| *it <= answer.len()).collect();
        cuts.extend([0, answer.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|it| &answer[it[0]..it[1]]);
        prop_assert_eq!(read(pieces), Ok((200, chunks.concat(), true, 0)));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), coding in 0..3) {
        let head = ["", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\n"][coding as usize];
        let all = [head.as_bytes(), &bytes].concat();
        // Feeding single bytes gives the same result, and a body is never longer than the bytes fed.
        let whole = read([all.as_slice()]);
        prop_assert_eq!(read(all.chunks(1)).ok(), whole.clone().ok());
        prop_assert!(whole.is_err() || whole.is_ok_and(|it| it.1.len() <= all.len()));
    }
}
