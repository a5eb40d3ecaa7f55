//! A set of vectors against a plain list of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A direction that belongs to a number; numbers with the same tens lie close together.
fn vector(number: u64) -> Vector {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut group = (number / 10).wrapping_mul(0xD1B5_4A32_D192_ED03) | 1;
    let mut vector = std::array::from_fn(|_| next(&mut group) + 0.3 * next(&mut state));
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|number| *number /= length);
    vector
}

fn next(state: &mut u64) -> f32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 40) as f32 / (1 << 23) as f32 - 1.0
}

fn dot(left: &Vector, right: &Vector) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn set_of(numbers: impl IntoIterator<Item = u64>) -> VectorSet {
    let mut set = VectorSet::new();
    for number in numbers {
        set.push(number, &vector(number)).unwrap();
    }
    set
}

fn ids(found: &[(u64, f32)]) -> Vec<u64> {
    found.iter().map(|(id, _)| *id).collect()
}

#[test]
fn the_nearest_come_first_with_their_cosine() {
    let set = set_of(0..3000);
    let found = set.scan(&vector(77), |_| true, 10);
    let mut near = ids(&found);
    assert_eq!(near[0], 77);
    near.sort_unstable();
    assert_eq!(near, (70..80).collect::<Vec<_>>());
    for (id, score) in found {
        assert!((score - dot(&vector(77), &vector(id))).abs() < 0.01);
    }
}

#[test]
fn what_the_filter_refuses_does_not_take_a_place() {
    let set = set_of(0..3000);
    let found = set.scan(&vector(77), |id| id % 2 == 1, 5);
    let mut near = ids(&found);
    near.sort_unstable();
    assert_eq!(near, [71, 73, 75, 77, 79]);
}

#[test]
fn bits_and_rows_find_the_same_nearest() {
    let set = set_of(0..5000);
    for number in (0..5000).step_by(500) {
        let query = Quantised::of(&vector(number));
        let rows = set.scan_rows(&query, |id| id != number, 9);
        assert_eq!(set.scan_bits(&query, |id| id != number, 9), rows);
    }
}

#[test]
fn an_empty_set_and_an_empty_wish_find_nothing() {
    assert!(VectorSet::new().scan(&vector(1), |_| true, 5).is_empty());
    assert!(set_of(0..5).scan(&vector(1), |_| true, 0).is_empty());
    assert_eq!(set_of(0..5).scan(&vector(1), |_| true, usize::MAX).len(), 5);
}

#[test]
fn a_vector_survives_being_written_and_read() {
    let kept = Quantised::of(&vector(5));
    let bytes = kept.to_bytes();
    assert_eq!(Quantised::from_bytes(&bytes), Some(kept.clone()));
    assert!(dot(&kept.to_vector(), &vector(5)) > 0.999);
    let mut bad = bytes;
    bad[WIDTH..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(Quantised::from_bytes(&bad), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_is_pushed_and_removed_the_set_holds_what_a_map_would(
        steps in prop::collection::vec((any::<bool>(), 0_u64..40, 0_u64..1000), 0..200)
    ) {
        let mut set = VectorSet::new();
        let mut map = BTreeMap::new();
        for (is_push, id, number) in steps {
            if is_push {
                set.push(id, &vector(number)).unwrap();
                map.insert(id, Quantised::of(&vector(number)));
            } else {
                prop_assert_eq!(set.remove(id), map.remove(&id).is_some());
            }
        }
        prop_assert_eq!(set.len(), map.len());
        for id in 0..40 {
            prop_assert_eq!(set.get(id), map.get(&id).cloned());
        }
        let mut found = ids(&set.scan(&vector(1), |_| true, 100));
        found.sort_unstable();
        prop_assert_eq!(found, map.keys().copied().collect::<Vec<_>>());
    }
}
