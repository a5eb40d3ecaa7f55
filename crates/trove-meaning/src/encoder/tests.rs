//! The encoder against an independent reading of the same model; `golden/make.py` says how
//! that was made.

use sha2::{Digest as _, Sha256};

use super::*;

fn texts() -> Vec<String> {
    serde_json::from_str(include_str!("../../golden/texts.json")).unwrap()
}

fn length_squared(vector: &[f32]) -> f32 {
    cosine(vector, vector)
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[test]
fn tokens_are_those_of_the_reference() {
    let expected: Vec<Vec<u16>> =
        serde_json::from_str(include_str!("../../golden/tokens.json")).unwrap();
    let encoder = Encoder::embedded();
    for (text, expected) in texts().iter().zip(expected) {
        assert_eq!(encoder.tokens(text), expected, "{text:?}");
    }
}

#[test]
fn vectors_point_where_the_reference_points_on_every_kind_of_processor() {
    #[derive(serde::Deserialize)]
    struct Reference {
        text: usize,
        vector: Vec<f32>,
    }
    let references: Vec<Reference> =
        serde_json::from_str(include_str!("../../golden/vectors.json")).unwrap();
    assert!(references.len() >= 20);
    let texts = texts();
    for isa in Isa::all() {
        let encoder = Encoder { isa, ..Encoder::embedded() };
        let mut scratch = Scratch::default();
        for Reference { text, vector } in &references {
            let found = encoder.encode_with(&texts[*text], &mut scratch);
            let cosine = cosine(&found, vector);
            // One word six hundred times adds up what eight bits lose; no real text does.
            let least = if texts[*text].starts_with("word word") { 0.985 } else { 0.995 };
            assert!(cosine >= least, "{isa:?}: {cosine} for {:?}", texts[*text]);
            assert!((length_squared(&found) - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn a_text_has_the_same_vector_alone_and_among_others() {
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let encoder = Encoder::embedded();
    let alone: Vec<Vector> = texts.iter().map(|text| encoder.encode(text)).collect();
    assert!(encoder.encode_batch(&texts, 1) == alone);
    assert!(encoder.encode_batch(&texts, 3) == alone);
}

#[test]
fn no_texts_have_no_vectors() {
    assert!(Encoder::embedded().encode_batch(&[], 4).is_empty());
}

#[test]
fn a_question_is_nearest_to_its_answer() {
    let encoder = Encoder::embedded();
    let question = encoder.encode("how do I get a new password?");
    let near = encoder.encode("Reset your credentials from the login page by e-mail.");
    let far = encoder.encode("Bees collect nectar from flowers and turn it into honey.");
    assert!(cosine(&question, &near) > cosine(&question, &far) + 0.1);
}

#[test]
fn what_comes_after_the_longest_text_is_not_looked_at() {
    let encoder = Encoder::embedded();
    let long = "word ".repeat(600);
    assert_eq!(encoder.tokens(&long).len(), MAX_TOKENS);
    assert!(encoder.encode(&long) == encoder.encode(&format!("{long} and something else")));
}

#[test]
fn a_huge_word_is_read_no_further_than_needed() {
    let encoder = Encoder::embedded();
    for sign in ["x", " ", "=", "é", "日"] {
        let tokens = encoder.tokens(&sign.repeat(4_000_000));
        assert!(tokens.len() <= MAX_TOKENS && tokens.len() > 2, "{sign:?}");
    }
}

#[test]
fn the_encoder_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Encoder>();
    shared::<Scratch>();
}

#[test]
fn the_pack_is_the_one_its_checksum_names() {
    let stated = include_str!("../../model/granite-30m.pack.sha256");
    let digest = Sha256::digest(include_bytes!("../../model/granite-30m.pack"));
    let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(stated.split_whitespace().next(), Some(found.as_str()));
}
