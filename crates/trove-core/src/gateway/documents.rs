//! Local knowledge for those who do not go by URIs: expressions, categories, collections.

use std::sync::Arc;

use super::{AskError, Gateway, settle::Asked};
use crate::{
    access::Standing,
    caller::Caller,
    json::Json,
    knowledge::{Content, Document, Knowledge, KnowledgeError},
    project::ProjectName,
    source::{Reply, Source as _, Visible},
    uri::PublicUri,
};

impl Gateway {
    /// Gives the gateway its local knowledge; once, at the start.
    pub fn adopt_knowledge(&self, knowledge: Arc<Knowledge>) {
        let _ = self.knowledge.set(knowledge);
    }

    /// Local knowledge, if there is any.
    pub fn knowledge(&self) -> Option<&Arc<Knowledge>> {
        self.knowledge.get()
    }

    /// The documents an expression means, as far as the caller may read them.
    pub async fn content(
        &self,
        caller: &Caller,
        knowledge: &Knowledge,
        expression: &str,
        pattern: Option<&str>,
    ) -> Result<Content, KnowledgeError> {
        let asked = Asked::new(caller, "get_content", expression);
        let project = caller.project.as_ref().map(ProjectName::as_str);
        let mut result = knowledge.get_content(expression, pattern, project).await;
        if let Ok(content) = &mut result {
            let visible = self.visible(caller, knowledge.id().as_str());
            content.pieces.retain(|piece| visible.allows(piece.document.uri()));
            if content.pieces.is_empty() {
                let what = expression.to_owned();
                result = Err(KnowledgeError::NotFound { what, near: Vec::new() });
            }
        }
        let told = match &result {
            Ok(_) => Ok(Reply::plain(Json::empty_object())),
            Err(_) => Err(AskError::NotFound { uri: PublicUri::new(expression) }),
        };
        self.settle(&asked, &told);
        result
    }

    /// The documents of a category, as far as the caller may read them.
    pub async fn category_files(
        &self,
        caller: &Caller,
        knowledge: &Knowledge,
        name: &str,
        pattern: Option<&str>,
    ) -> Result<Vec<Arc<Document>>, KnowledgeError> {
        let mut documents = knowledge.category_files(name, pattern).await?;
        let visible = self.visible(caller, knowledge.id().as_str());
        documents.retain(|document| visible.allows(document.uri()));
        Ok(documents)
    }

    /// Which resources of a Source the caller may read.
    pub(super) fn visible(&self, caller: &Caller, id: &str) -> Visible {
        let access = self.access();
        if access.policy.is_empty() {
            return Visible::default();
        }
        let (caller, id) = (caller.clone(), id.to_owned());
        Visible::when(move |local| access.standing(&caller, &id, local).0 == Standing::Open)
    }
}
