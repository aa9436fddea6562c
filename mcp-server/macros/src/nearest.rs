//! The name that was probably meant.

/// The nearest of the names, if one is near: a third of its letters may be wrong.
pub(crate) fn nearest<'a>(meant: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let meant = plain(meant);
    names
        .into_iter()
        .map(|name| (distance(&meant, &plain(name)), name))
        .filter(|(distance, name)| *distance <= name.len().max(meant.len()).div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// `readOnly` and `read_only` are the same word.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

/// Letters to add, drop, change or swap with the next (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_with_the_fewest_wrong_letters() {
        let names = ["name", "title", "description", "min", "max", "min_length", "max_length", "read_only"];
        for (meant, found) in [
            ("descripton", Some("description")),
            ("tilte", Some("title")),
            ("minLength", Some("min_length")),
            ("min_len", Some("min_length")),
            ("readonly", Some("read_only")),
            ("mni", Some("min")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest(meant, names), found, "{meant}");
        }
    }
}
