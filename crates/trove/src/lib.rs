//! The program: process, environment, terminal. Everything it knows of resources it
//! asks of the Gateway.

pub mod app;
pub mod cli;
mod clients;
pub mod commands;
pub mod config;

mod approval;
mod bench;
mod borrow;
mod complete;
mod describe;
mod doctor;
mod errand;
mod failed;
mod keys;
mod ledger;
mod machine;
mod progress;
mod reload;
mod rest;
mod signals;
mod stdio;
mod style;
mod telemetry;
mod token;
mod web;
