//! How well search finds, on our own labelled set: logs, tables and settings.

use trove_testkit::{
    corpus,
    retrieval::{
        Indexed,
        measures::{Order, Scores},
        set::Set,
    },
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
    let (mut order, mut scores) = (Order::default(), Scores::default());
    indexed.measure_order(false, &mut order).unwrap();
    assert!(order.ndcg() >= 0.74, "nDCG@10 {}", order.ndcg());
    indexed.measure_scores(&indexed.set.questions, false, &mut scores).unwrap();
    assert!(scores.calibration.error() <= 0.1, "{}", scores.calibration.error());
    // In one call, and with words alone: near misses count.
    assert!(scores.first() >= 0.75, "{} among the first three", scores.first());
    indexed.measure_off_topic(&[&off_topic()], false, &mut scores).unwrap();
    let empty = scores.empty();
    assert!(empty >= 0.8, "{empty} of the questions about other things find nothing");
}
