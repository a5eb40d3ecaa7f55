//! Gives back the memory that a resting program takes for its own file.
//!
//! A program's code and constants are read from its file a piece at a time, and each piece stays in
//! its memory. In one that carries a language model they are most of its memory. While it rests it
//! needs almost nothing of that, and the kernel has the file at hand when it does.

/// Gives back the pages of this program's file that are in memory, and says how many bytes of
/// address space they lie in. Pages that are needed again are read again.
#[cfg(target_os = "linux")]
pub fn give_back() -> std::io::Result<usize> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let maps = std::fs::read_to_string("/proc/self/smaps")?;
    let mut bytes = 0;
    for range in maps::unchanged(&maps, &program.to_string_lossy()) {
        advise(&range)?;
        bytes += range.len();
    }
    Ok(bytes)
}

/// How many bytes of files this program has in memory; `None` where that cannot be told.
pub fn taken() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssFile:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}

/// Elsewhere nothing is given back.
#[cfg(not(target_os = "linux"))]
pub fn give_back() -> std::io::Result<usize> {
    Ok(0)
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the kernel is told about memory by its address")]
fn advise(range: &std::ops::Range<usize>) -> std::io::Result<()> {
    use rustix::mm::{Advice, madvise};
    let start = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: the range is a mapping of this program's own file, which stays mapped for as long as
    // the program runs. It cannot be written and none of its pages was ever changed. So a later
    // read gives the bytes of the file that are there now. The kernel takes such pages away by
    // itself when memory is short.
    unsafe { madvise(start, range.len(), Advice::LinuxDontNeed) }?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod maps {
    //! The kernel's word on the memory of a process.

    use std::ops::Range;

    /// The mappings of this file that are read-only and unchanged.
    pub(super) fn unchanged(smaps: &str, file: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut candidate = None;
        for line in smaps.lines() {
            if let Some(mapping) = Mapping::parse(line) {
                candidate = mapping.is_of(file).then_some(mapping.range);
            } else if let Some(kib) = line.strip_prefix("Anonymous:") {
                // Pages that the loader has changed are ours alone and would be lost.
                found.extend(candidate.take().filter(|_| kib.trim() == "0 kB"));
            }
        }
        found
    }

    struct Mapping<'a> {
        range: Range<usize>,
        rights: &'a str,
        path: &'a str,
    }

    impl<'a> Mapping<'a> {
        /// The line with which a mapping begins; none for those that tell more about it.
        fn parse(line: &'a str) -> Option<Mapping<'a>> {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            let range = number(start)?..number(end)?;
            let (rights, rest) = rest.split_once(' ')?;
            // Offset, device and inode come before the path, which may hold spaces.
            let path = rest.splitn(4, ' ').nth(3).unwrap_or_default().trim_start();
            Some(Mapping { range, rights, path })
        }

        fn is_of(&self, file: &str) -> bool {
            self.path == file && matches!(self.rights, "r--p" | "r-xp")
        }
    }

    #[cfg(test)]
    mod tests {
        use super::unchanged;

        const SMAPS: &str = "\
1000-3000 r--p 00000000 fe:00 77    /opt/my tools/trove
Size:                  8 kB
Anonymous:             0 kB
3000-5000 r-xp 00002000 fe:00 77    /opt/my tools/trove
Anonymous:             0 kB
5000-6000 r--p 00004000 fe:00 77    /opt/my tools/trove
Anonymous:             4 kB
6000-7000 rw-p 00005000 fe:00 77    /opt/my tools/trove
Anonymous:             0 kB
7000-8000 r-xp 00000000 fe:00 78    /lib/libc.so.6
Anonymous:             0 kB
8000-9000 rw-p 00000000 00:00 0 
Anonymous:             4 kB
";

        #[test]
        fn only_what_cannot_be_written_and_was_never_changed() {
            let found = unchanged(SMAPS, "/opt/my tools/trove");
            assert_eq!(found, [0x1000..0x3000, 0x3000..0x5000]);
            assert!(unchanged(SMAPS, "/opt/other").is_empty());
            assert!(unchanged("no such thing\nAnonymous: 0 kB\n", "").is_empty());
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    /// So much of it that it is not in memory by chance.
    static CONSTANTS: [u8; 1 << 20] = [7; 1 << 20];

    #[test]
    fn what_is_given_back_is_there_again_when_it_is_needed() {
        let sum = || CONSTANTS.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        let (before, bytes) = (sum(), super::taken());
        assert!(super::give_back().unwrap() >= CONSTANTS.len());
        let left = super::taken();
        assert!(left + 512 * 1024 < bytes, "{bytes} bytes before, {left} after");
        assert_eq!(sum(), before);
    }
}
