//! The program: process, environment, terminal. Everything it knows of resources it
//! asks of the Gateway.

pub mod app;
pub mod cli;
mod clients;
pub mod commands;
pub mod config;

mod approval;
mod describe;
mod doctor;
mod ledger;
mod reload;
mod stdio;
mod telemetry;
mod token;
mod web;
