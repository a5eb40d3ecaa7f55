//! How well search finds, on our own labelled set: logs, tables and settings.

use trove_testkit::{
    corpus,
    retrieval::{Indexed, set::Set},
};

/// Questions about other things, for which there is nothing.
fn off_topic() -> Set {
    let mut set = corpus::set();
    "elsewhere".clone_into(&mut set.name);
    let texts = [
        "best pasta recipe with tomatoes and basil",
        "how do I train a puppy to sit",
        "lyrics of a sad love song",
        "cheap hotels near the beach in Portugal",
        "exercises against back pain",
        "history of the Roman empire",
        "what should I wear to a wedding",
        "learn to play the guitar",
    ];
    set.questions.truncate(texts.len());
    for (question, text) in set.questions.iter_mut().zip(texts) {
        text.clone_into(&mut question.text);
    }
    set
}

#[tokio::test]
async fn words_find_the_right_files_and_scores_tell_the_truth() {
    let indexed = Indexed::new(corpus::set(), None, None).await.unwrap();
    let measures = indexed.measure(false).unwrap();
    assert!(measures.ndcg() >= 0.74, "nDCG@10 {}", measures.ndcg());
    assert!(measures.calibration.error() <= 0.1, "{}", measures.calibration.error());
    let elsewhere = off_topic();
    let empty = indexed.off_topic_empty(&[&elsewhere], false).unwrap();
    assert!(empty >= 0.8, "{empty} of the questions about other things find nothing");
}
