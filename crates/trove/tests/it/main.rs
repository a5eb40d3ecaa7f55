//! The real program against real servers.
//!
//! Everything here starts `trove` as a user does and looks at it from outside. The parts,
//! in the order in which a reader may want them:

// What the rest is written with: a folder, a running Trove, raw clients, toy servers.
mod kit;

// What a client sees: all of it, unchanged, in its own era.
mod bridge;
mod code;
mod eras;
mod fidelity;
mod find;
mod folders;
mod guide;
mod guide_tools;
mod lists;
mod papers;
mod recipes;

// What happens while a client is there: changes, progress, a new configuration.
mod hushed;
mod progress;
mod projects;
mod reload;
mod watch;

// What goes wrong: faults and attacks by their number, restarts, requests that break the
// rules.
mod circles;
mod classes;
mod edges;
mod faults;
mod http;
mod identity;
mod limits;
mod login;
mod odd;
mod remedies;
mod restart;
mod small;
mod sse_door;
mod turned_away;

// What a person at a terminal sees, and what becomes of other clients' files.
mod approval;
mod audit;
mod bench;
mod canary;
mod cli;
mod clients;
mod doctor;
mod examples;
mod flags;
mod image;
mod manual;
mod running;
mod scripts;
mod servers;
mod up;

// The web page: who is let in, what its API says, and the page itself in a browser.
mod order;
mod page;
mod published;
mod web;

// Servers and clients that others wrote, and the suite that judges them all.
mod conformance;
mod peers;
