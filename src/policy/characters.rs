//! Texts in character sets whose second bytes look like quotes and backslashes.

/// The first bytes of characters of two bytes.
pub(super) type FirstByte = fn(u8) -> bool;

/// gbk and gb18030; big5; sjis and cp932. A byte that begins a character in one of them may stand alone in another.
pub(super) const SETS: [FirstByte; 3] = [
    |byte| matches!(byte, 0x81..=0xfe),
    |byte| matches!(byte, 0xa1..=0xf9),
    |byte| matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
];

/// The text with the second byte of each character made a letter, so that it can be read byte by byte.
pub(super) fn joined(sql: &[u8], begins: FirstByte) -> Vec<u8> {
    let mut out = sql.to_vec();
    let mut at = 0;
    while let Some([first, second]) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        let is_two = begins(*first) && matches!(*second, 0x40..=0x7e | 0x80..=0xfe);
        if is_two {
            *second = b'x';
        }
        at += 1 + usize::from(is_two);
    }
    out
}
