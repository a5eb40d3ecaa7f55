//! Cursors of lists, and the state of unfinished requests: clients carry them between requests.
//!
//! A client could send them with another request, change them, or keep them for ever. So each is
//! sealed for the one who got it and for the request it belongs to, and any other use is refused
//! before a list is looked at or a server sees it.

use std::time::Duration;

use tracing::debug;
use trove_core::{
    Caller, Json,
    json::{Object, string},
};

use crate::{
    bounds::MAX_CURSOR_AGE,
    seal::{NotOpened, Purpose, Seal, Use},
    wire::{RpcError, code},
};

/// The member of params and results with the state of a request.
pub(super) const STATE: &str = "requestState";

/// A cursor that leads into no list: the gateway refuses it, and writes that down.
const NOWHERE: &str = "-";

/// The cursor as the client gets it.
pub(super) fn close_cursor(seal: &Seal, cursor: &str, caller: &Caller) -> Result<String, RpcError> {
    let sealed = seal.close(&of_cursor(caller), cursor.as_bytes(), MAX_CURSOR_AGE);
    let too_long = |error| RpcError::new(code::INTERNAL_ERROR, format!("the cursor: {error}"));
    Ok(sealed.map_err(too_long)?.text)
}

/// The cursor as the gateway knows it.
pub(super) fn open_cursor(seal: &Seal, cursor: &str, caller: &Caller) -> String {
    if cursor.is_empty() {
        return String::new();
    }
    let opened = match seal.open(&of_cursor(caller), cursor) {
        Ok(opened) => opened,
        Err(why) => {
            debug!(%why, "a cursor is not taken");
            return NOWHERE.to_owned();
        }
    };
    String::from_utf8(opened.content).unwrap_or_else(|_| NOWHERE.to_owned())
}

fn of_cursor(caller: &Caller) -> Use<'_> {
    Use { purpose: Purpose::Cursor, whom: caller.principal.as_deref(), about: "" }
}

/// The use of a state: one caller, one request.
pub(super) fn of_state<'a>(caller: &'a Caller, request: &'a str) -> Use<'a> {
    let whom = caller.principal.as_deref();
    Use { purpose: Purpose::RequestState, whom, about: request }
}

/// Seals the state of a result, if it has one.
pub(super) fn close_state(
    seal: &Seal,
    result: Json,
    belongs_to: &Use<'_>,
    lifetime: Duration,
) -> Result<Json, RpcError> {
    let Some(mut object) = result.object() else { return Ok(result) };
    let Some(state) = object.get(STATE).map(str::to_owned) else { return Ok(result) };
    let sealed = seal.close(belongs_to, state.as_bytes(), lifetime);
    let too_long = |error| {
        let text = format!("the server's `requestState` cannot be carried: {error}");
        RpcError::new(code::INTERNAL_ERROR, text)
    };
    object.set_str(STATE, &sealed.map_err(too_long)?.text);
    Ok(object.to_json())
}

/// Opens the state of a request, if it has one.
pub(super) fn open_state(
    seal: &Seal,
    params: &mut Object<'_>,
    belongs_to: &Use<'_>,
    lifetime: Duration,
) -> Result<(), RpcError> {
    let Some(sealed) = params.get(STATE) else { return Ok(()) };
    let Some(sealed) = string(sealed) else {
        return Err(not_taken(NotOpened::Malformed, lifetime));
    };
    let opened = seal.open(belongs_to, &sealed);
    let opened = opened.map_err(|why| not_taken(why, lifetime))?;
    let Ok(state) = String::from_utf8(opened.content) else {
        return Err(not_taken(NotOpened::Malformed, lifetime));
    };
    params.set(STATE, state);
    Ok(())
}

/// Why a state is refused. Only its age is told apart: the rest would help who guesses.
fn not_taken(why: NotOpened, lifetime: Duration) -> RpcError {
    debug!(%why, "a requestState is not taken");
    let text = match why {
        NotOpened::Expired => format!(
            "`requestState` was given out more than {} seconds ago and is no longer taken; ask again without it",
            lifetime.as_secs()
        ),
        NotOpened::Malformed
        | NotOpened::OtherLayout
        | NotOpened::UnknownKey
        | NotOpened::Forged => {
            "`requestState` was not given out for this request, or was changed; ask again without it".to_owned()
        }
    };
    RpcError::new(code::INVALID_PARAMS, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bounds::MAX_STATE_AGE, seal::Ring};

    const READ: &str = "read a:b";

    fn json(text: &str) -> Json {
        Json::parse(text.to_owned()).unwrap()
    }

    fn seal() -> Seal {
        Seal::new(Ring::random())
    }

    fn close(seal: &Seal, result: &str) -> Json {
        let caller = Caller::local();
        close_state(seal, json(result), &of_state(&caller, READ), MAX_STATE_AGE).unwrap()
    }

    fn open(seal: &Seal, params: &Json, request: &str) -> Result<Json, RpcError> {
        let mut object = params.object().unwrap();
        open_state(seal, &mut object, &of_state(&Caller::local(), request), MAX_STATE_AGE)?;
        Ok(object.to_json())
    }

    #[test]
    fn t42_a_sealed_state_opens_only_for_its_own_request() {
        let seal = seal();
        let sealed = close(&seal, r#"{"requestState":"abc","x":1}"#);
        assert!(!sealed.as_str().contains("abc"));
        let opened = open(&seal, &sealed, READ).unwrap();
        assert_eq!(opened.as_str(), r#"{"requestState":"abc","x":1}"#);
        assert!(open(&seal, &sealed, "read a:c").is_err());
        assert!(open(&self::seal(), &sealed, READ).is_err());
    }

    #[test]
    fn t42_a_state_of_the_clients_own_making_is_refused() {
        let seal = seal();
        for forged in
            [r#"{"requestState":"abc"}"#, r#"{"requestState":7}"#, r#"{"requestState":""}"#]
        {
            assert!(open(&seal, &json(forged), READ).is_err(), "{forged}");
        }
        assert_eq!(open(&seal, &json(r#"{"a":1}"#), "x").unwrap().as_str(), r#"{"a":1}"#);
    }

    #[test]
    fn t42_a_sealed_state_is_taken_back_for_its_lifetime_and_no_longer() {
        let seal = seal();
        let sealed = close(&seal, r#"{"requestState":"abc"}"#);
        assert!(open(&seal, &sealed, READ).is_ok(), "still good");
        let error = not_taken(NotOpened::Expired, Duration::from_secs(60));
        assert!(error.message.contains("more than 60 seconds ago"), "{}", error.message);
        assert!(error.message.contains("ask again without it"), "{}", error.message);
        // A forged state is told nothing about time.
        let error = open(&seal, &sealed, "read a:c").unwrap_err();
        assert!(error.message.contains("not given out"), "{}", error.message);
    }

    #[test]
    fn a_state_that_is_too_long_to_be_carried_is_said_to_be() {
        let large = format!("{{\"requestState\":\"{}\"}}", "x".repeat(1024 * 1024));
        let caller = Caller::local();
        let belongs_to = of_state(&caller, READ);
        let error = close_state(&seal(), json(&large), &belongs_to, MAX_STATE_AGE).unwrap_err();
        assert!(error.message.contains("more than the 1048576"), "{}", error.message);
    }

    #[test]
    fn a_cursor_is_for_the_one_who_got_it() {
        let seal = seal();
        let ann = Caller { principal: Some("ann".into()), ..Caller::local() };
        let cursor = close_cursor(&seal, "resources:1000-ff", &ann).unwrap();
        assert_eq!(open_cursor(&seal, &cursor, &ann), "resources:1000-ff");
        assert_eq!(open_cursor(&seal, &cursor, &Caller::local()), NOWHERE);
        for forged in ["resources:1000-ff", "x", &cursor[1..]] {
            assert_eq!(open_cursor(&seal, forged, &ann), NOWHERE);
        }
        assert_eq!(open_cursor(&seal, "", &ann), "", "clients may ask for the first page so");
    }
}
