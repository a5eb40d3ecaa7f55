//! Binary contents as they travel: base64 as servers write it.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// With padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a blob holds; blanks and line ends in it mean nothing.
pub fn decode_blob(blob: &str) -> Option<Vec<u8>> {
    if !blob.contains(char::is_whitespace) {
        return BASE64.decode(blob).ok();
    }
    let compact: String = blob.chars().filter(|c| !c.is_whitespace()).collect();
    BASE64.decode(compact).ok()
}
