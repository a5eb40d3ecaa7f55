//! A guide on disk behind a gateway, with flags and a ledger that tests can look at.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use trove_core::{
    Caller, Class, Gateway, Json, PublicUri, Source as _, SourceError,
    catalogue::List,
    flags::{self, SqliteStore, defs::KNOWN},
    gateway::{AskError, Parts},
    knowledge::{Edit, Flags, Givens, Knowledge, Ledger, Settings},
    search::{Config, Search},
    source::Ask,
};
use trove_testkit::gateway_box::Asks as _;

/// Flags that a test sets.
#[derive(Debug, Default)]
pub(crate) struct TestFlags(pub(crate) Mutex<BTreeMap<String, Value>>);

impl Flags for TestFlags {
    fn flag(&self, _: Option<&str>, name: &str, own: Option<&Value>) -> Option<Value> {
        self.0.lock().unwrap().get(name).or(own).cloned()
    }
}

/// Remembers what it was to write down, or refuses.
#[derive(Debug, Default)]
pub(crate) struct TestLedger {
    pub(crate) edits: Mutex<Vec<Edit>>,
    pub(crate) refuses: bool,
}

impl Ledger for TestLedger {
    fn keep(&self, edits: &[Edit]) -> Result<(), String> {
        if self.refuses {
            return Err("the disk is full".into());
        }
        self.edits.lock().unwrap().extend_from_slice(edits);
        Ok(())
    }
}

/// A guide on disk, served by a gateway.
pub(crate) struct Guide {
    pub(crate) dir: TempDir,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) flags: Arc<TestFlags>,
    pub(crate) ledger: Arc<TestLedger>,
    pub(crate) stop: CancellationToken,
}

impl Guide {
    pub(crate) async fn with(files: &[(&str, &str)]) -> Guide {
        Guide::set(files, |_| {}).await
    }

    pub(crate) async fn set(files: &[(&str, &str)], change: impl FnOnce(&mut Settings)) -> Guide {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            write(dir.path(), path, text);
        }
        Guide::in_folder(dir, change, TestLedger::default()).await
    }

    /// A guide with flags and an index.
    pub(crate) async fn furnished(
        files: &[(&str, &str)],
        change: impl FnOnce(&mut Settings),
    ) -> Guide {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            write(dir.path(), path, text);
        }
        let store = SqliteStore::opener(dir.path().join("store.db"));
        let flags = Some(Arc::new(flags::Flags::start(store, KNOWN)));
        let search = Search::open(None, Config::default(), None).unwrap();
        let parts = Parts { flags, index: Arc::new(search).into(), ..Parts::new("test") };
        Guide::made(dir, change, TestLedger::default(), parts).await
    }

    pub(crate) async fn in_folder(
        dir: TempDir,
        change: impl FnOnce(&mut Settings),
        ledger: TestLedger,
    ) -> Guide {
        Guide::made(dir, change, ledger, Parts::new("test")).await
    }

    async fn made(
        dir: TempDir,
        change: impl FnOnce(&mut Settings),
        ledger: TestLedger,
        parts: Parts,
    ) -> Guide {
        let mut settings = Settings::new(dir.path().join("guide"));
        change(&mut settings);
        let (flags, ledger) = (Arc::new(TestFlags::default()), Arc::new(ledger));
        let givens = Givens {
            flags: flags.clone(),
            ledger: Some(ledger.clone()),
            now: || SystemTime::UNIX_EPOCH,
        };
        let (knowledge, mut events) = Knowledge::new(settings, givens);
        let gateway = Gateway::new(Parts { knowledge: Some(knowledge.clone()), ..parts }).await;
        gateway.feed().all_attached().await;
        let (feed, id) = (gateway.feed(), knowledge.id().clone());
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                feed.report(&id, event).await;
            }
        });
        Guide { dir, gateway, knowledge, flags, ledger, stop: CancellationToken::new() }
    }

    /// Follows the disk from now on.
    pub(crate) async fn follow(&self) {
        tokio::spawn(self.knowledge.clone().follow(self.stop.clone()));
        // The watcher says nothing when it is there; a file that it tells of does.
        let probe = self.root().join("probe");
        fs::create_dir_all(&probe).unwrap();
        for n in 0.. {
            write(self.dir.path(), "guide/probe/file.md", &format!("{n}"));
            let before = tokio::time::Instant::now();
            while before.elapsed() < Duration::from_secs(1) {
                let seen = self.read("guide://document/probe/file.md").await.ok();
                if seen == Some(n.to_string()) && n > 0 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("guide")
    }

    pub(crate) async fn result(&self, uri: &str) -> Result<Value, AskError> {
        let uri = PublicUri::new(uri);
        let reply = self.gateway.read(&Caller::local(), &uri, Ask::default()).await?;
        Ok(reply.reply.body.to().unwrap())
    }

    pub(crate) async fn content(&self, uri: &str) -> Value {
        self.result(uri).await.unwrap()["contents"][0].clone()
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<String, AskError> {
        let result = self.result(uri).await?;
        Ok(result["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
    }

    /// The class and the words of an error.
    pub(crate) async fn refused(&self, uri: &str) -> (Class, String) {
        match self.result(uri).await {
            Err(AskError::Source { error: SourceError::Told { class, message }, .. }) => {
                (class, message)
            }
            other => panic!("{uri}: {other:?}"),
        }
    }

    /// The documents in a multipart answer, as `category/path`.
    pub(crate) async fn parts(&self, uri: &str) -> Vec<String> {
        let text = self.read(uri).await.unwrap();
        let found = text
            .lines()
            .filter_map(|line| line.strip_prefix("Content-Location: guide://document/"));
        found.map(str::to_owned).collect()
    }

    pub(crate) async fn entries(&self, list: List) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let answer =
                self.gateway.list(&Caller::local(), list, cursor.as_deref()).await.unwrap();
            all.extend(answer.page.entries.iter().map(|entry| entry.to::<Value>().unwrap()));
            cursor = answer.page.next.clone();
            if cursor.is_none() {
                return all;
            }
        }
    }

    pub(crate) async fn complete(
        &self,
        template: &str,
        name: &str,
        value: &str,
        known: Value,
    ) -> Value {
        let arguments = Json::of(&json!({
            "ref": { "type": "ref/resource", "uri": template },
            "argument": { "name": name, "value": value },
            "context": { "arguments": known },
        }));
        let reply =
            self.gateway.complete(&Caller::local(), &arguments, Ask::default()).await.unwrap();
        reply.body.to::<Value>().unwrap()["completion"].clone()
    }

    pub(crate) async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let began = tokio::time::Instant::now();
        while !is_so().await {
            assert!(began.elapsed() < Duration::from_secs(30), "waited for {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Guide {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
