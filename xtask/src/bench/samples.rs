//! Figures of several rounds, and what to make of them.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::Value;

/// The results of one measurement, round by round, of each target by name.
#[derive(Default)]
pub(super) struct Samples(BTreeMap<String, Vec<Value>>);

impl Samples {
    pub(super) fn add(&mut self, target: impl Into<String>, result: Value) {
        self.0.entry(target.into()).or_default().push(result);
    }

    /// The median of one figure.
    pub(super) fn median(&self, target: &str, figure: &str) -> anyhow::Result<f64> {
        Ok(median(self.all(target, figure)?))
    }

    /// The median of the ratios within each round, which a busy minute bends less than
    /// the ratio of the medians.
    pub(super) fn ratio(&self, target: &str, base: &str, figure: &str) -> anyhow::Result<f64> {
        self.compare(target, base, figure, |target, base| target / base)
    }

    /// The median of the differences within each round.
    pub(super) fn added(&self, target: &str, base: &str, figure: &str) -> anyhow::Result<f64> {
        self.compare(target, base, figure, |target, base| target - base)
    }

    fn compare(
        &self,
        target: &str,
        base: &str,
        figure: &str,
        how: fn(f64, f64) -> f64,
    ) -> anyhow::Result<f64> {
        let (target, base) = (self.all(target, figure)?, self.all(base, figure)?);
        Ok(median(target.into_iter().zip(base).map(|(target, base)| how(target, base)).collect()))
    }

    fn all(&self, target: &str, figure: &str) -> anyhow::Result<Vec<f64>> {
        let results = self.0.get(target).with_context(|| format!("{target} was not measured"))?;
        results.iter().map(|result| number(result, figure)).collect()
    }
}

/// A figure of one result.
pub(super) fn number(result: &Value, figure: &str) -> anyhow::Result<f64> {
    result[figure].as_f64().with_context(|| format!("no {figure} in {result}"))
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        let mut samples = Samples::default();
        for (fast, slow) in [(10, 5), (100, 60), (8, 4)] {
            samples.add("fast", json!({ "rps": fast }));
            samples.add("slow", json!({ "rps": slow }));
        }
        assert_eq!(samples.ratio("slow", "fast", "rps").unwrap(), 0.5);
        assert_eq!(samples.median("fast", "rps").unwrap(), 10.0);
        assert!(samples.median("other", "rps").is_err());
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
    }
}
