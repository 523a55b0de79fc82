//! The tokens of an image in a chat. Pure.
//!
//! An image has one token per patch of 28 x 28 pixels, as in Qwen2-VL. Equal images have equal tokens, so that the prefix cache recognises them. Only
//! the size is read, from the header of a PNG or JPEG file.

use super::text::{Prompt, digest, mix};

/// Width and height of a patch in pixels.
const PATCH: u32 = 28;
/// Maximum number of tokens in one image.
const MAX_TOKENS: u32 = 16_384;
/// Assumed size in pixels of an image whose header contains no size, or that is behind a URL.
const UNKNOWN: (u32, u32) = (512, 512);
/// Maximum number of base64 characters that are decoded to find the size of an image. A few kilobytes of tables may precede the size in a JPEG file.
const HEADER: usize = 16 << 10;

/// Adds the tokens of the image at this URL.
pub fn add(prompt: &mut Prompt, url: &str) {
    let (width, height) = url.split_once(";base64,").and_then(|(_, data)| size(&decode(data))).unwrap_or(UNKNOWN);
    let tokens = width.div_ceil(PATCH).saturating_mul(height.div_ceil(PATCH)).clamp(1, MAX_TOKENS);
    let image = digest(url);
    for position in 0..tokens {
        prompt.add_token((mix(image, u64::from(position)) % 128_000) as u32);
    }
}

/// Decodes the beginning of a base64 text, up to the first character outside the alphabet.
fn decode(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for value in text.bytes().take(HEADER).map_while(value) {
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Returns the width and the height of a PNG or JPEG image, in pixels.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        return Some((number(16)?, number(20)?));
    }
    if !bytes.starts_with(&[0xff, 0xd8]) {
        return None;
    }
    let number = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    loop {
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        // The start-of-frame markers are 0xC0 to 0xCF, without the three markers in this range that begin tables.
        if mark == 0xff && (0xc0..=0xcf).contains(&kind) && ![0xc4, 0xc8, 0xcc].contains(&kind) {
            return Some((u32::from(number(at + 7)?), u32::from(number(at + 5)?)));
        }
        at += 2 + usize::from(number(at + 2)?.max(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(url: &str) -> u32 {
        let mut prompt = Prompt::default();
        add(&mut prompt, url);
        prompt.tokens
    }

    #[test]
    fn the_size_of_an_image_decides() {
        // An image of 56 x 29 pixels has 2 x 2 patches.
        let png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAADgAAAAdCAAAAAA=";
        assert_eq!(tokens(png), 4);
        let jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 11, 8, 0, 28, 0, 57, 1, 1, 0x11, 0];
        assert_eq!(size(&jpeg), Some((57, 28)));
        assert_eq!(size(&jpeg[..16]), None);
        assert_eq!(size(b"GIF89a"), None);
        assert_eq!(tokens("https://images/cat.jpg"), 19 * 19);
        assert_eq!(tokens("data:image/png;base64,"), 19 * 19);
    }

    #[test]
    fn equal_images_are_equal_tokens() {
        let of = |url: &str| {
            let mut prompt = Prompt::new(1, 0, true);
            add(&mut prompt, url);
            prompt.ids.unwrap()
        };
        assert_eq!(of("https://a"), of("https://a"));
        assert_ne!(of("https://a"), of("https://b"));
    }
}
