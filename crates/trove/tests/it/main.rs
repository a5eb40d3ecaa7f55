//! The real program against real servers.
