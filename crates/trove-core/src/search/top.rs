//! The greatest of many, without sorting all of them.

/// The greatest few, greatest first.
pub(super) fn top_by<T>(
    values: impl Iterator<Item = T>,
    limit: usize,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Vec<T> {
    let mut best: Vec<T> = Vec::new();
    if limit == 0 {
        return best;
    }
    let cut = |best: &mut Vec<T>| {
        best.sort_by(|a, b| order(b, a));
        best.truncate(limit);
    };
    let mut is_cut = false;
    for value in values {
        // Once the list was cut, what is not above its last cannot come in.
        if is_cut && order(&value, &best[limit - 1]).is_le() {
            continue;
        }
        best.push(value);
        if best.len() >= limit * 2 + 64 {
            cut(&mut best);
            is_cut = true;
        }
    }
    cut(&mut best);
    best
}
