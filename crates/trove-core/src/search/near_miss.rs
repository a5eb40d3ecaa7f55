//! Near misses: results below the threshold that are worth a look all the same.
//!
//! They come after every hit and only where a page has room left, so that they never take the
//! place of a hit.

use std::ops::Range;

use super::{find::Candidate, relevance::NEAR_MISS_SCORE};

/// Leaves out what is less relevant than asked for, except the best few, which are marked and
/// come after all that is relevant; gives how many are relevant.
///
/// The order compares results of one question, the score must hold for any question. So the
/// first few of the order are worth a look. Among themselves they come by their score: where a
/// result holds hardly a word of the question, its place in the order says little.
pub(super) fn cut(candidates: &mut Vec<Candidate>, threshold: f32, near_misses: usize) -> usize {
    let (mut place, mut relevant) = (0, 0);
    candidates.retain_mut(|candidate| {
        let score = candidate.evidence.score();
        candidate.is_near_miss = score < threshold;
        relevant += usize::from(!candidate.is_near_miss);
        place += 1;
        !candidate.is_near_miss || (place <= near_misses && score >= NEAR_MISS_SCORE)
    });
    // Stable: hits keep their order.
    candidates.sort_by_key(|candidate| candidate.is_near_miss);
    let score = |candidate: &Candidate| candidate.evidence.score();
    candidates[relevant..].sort_by(|one, other| score(other).total_cmp(&score(one)));
    relevant
}

/// Which of `all` candidates, `relevant` of them hits, stand on a page as near misses: as many
/// as it has room for, and only on the page on which the hits end.
pub(super) fn beside(page: Range<usize>, relevant: usize, all: usize) -> Range<usize> {
    let has_room = relevant < page.end;
    let is_last_of_hits = page.start == 0 || page.start < relevant;
    if !has_room || !is_last_of_hits {
        return 0..0;
    }
    let room = page.end - page.start.max(relevant);
    relevant..all.min(relevant + room)
}

#[cfg(test)]
mod tests {
    use super::{super::relevance::Evidence, *};

    /// A candidate with a score; so much of the question's words in its text gives about that.
    fn candidate(id: u64, text: f32) -> Candidate {
        let mut candidate = Candidate::new(id);
        candidate.evidence = Evidence { text, coverage: text, ..Evidence::default() };
        candidate
    }

    fn ids(candidates: &[Candidate]) -> Vec<u64> {
        candidates.iter().map(|one| one.id).collect()
    }

    #[test]
    fn near_misses_come_after_every_hit() {
        let (near, nearer, hit) = (0.3, 0.32, 1.0);
        let near_score = candidate(0, near).evidence.score();
        let hit_score = candidate(0, hit).evidence.score();
        assert!((NEAR_MISS_SCORE..0.3).contains(&near_score), "{near_score}");
        assert!(hit_score > 0.3, "{hit_score}");
        let order = [near, nearer, hit, nearer, hit];
        let mut all: Vec<Candidate> =
            (1..).zip(order).map(|(id, text)| candidate(id, text)).collect();
        assert_eq!(cut(&mut all, 0.3, 3), 2);
        assert_eq!(ids(&all), [3, 5, 2, 1], "the fourth of the order is no near miss");
        assert!(all.iter().map(|one| one.is_near_miss).eq([false, false, true, true]));
    }

    #[test]
    fn near_misses_take_only_the_room_that_hits_leave() {
        for (page, hits, all, beside_them) in [
            (0..20, 5, 8, 5..8),
            (0..6, 5, 8, 5..6),
            (0..5, 5, 8, 0..0),
            (0..3, 5, 8, 0..0),
            (3..6, 5, 8, 5..6),
            (0..2, 0, 3, 0..2),
            // Behind the last page of hits there is none of near misses.
            (5..10, 5, 8, 0..0),
        ] {
            assert_eq!(beside(page.clone(), hits, all), beside_them, "{page:?}");
        }
    }
}
