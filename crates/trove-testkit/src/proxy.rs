//! A TCP proxy between Trove and a server that makes the network as bad as a test wants it.
//!
//! It runs in the test's own process and needs no rights: it does to bytes what a kernel would do
//! to packets. Its network can be changed while connections are open.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often a server that is away is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// How much is moved at a time.
const PIECE: usize = 16 * 1024;

/// The state of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Network {
    /// Everything arrives at once.
    Good,
    /// Every piece arrives that much later, both ways.
    Slow(Duration),
    /// The server's bytes arrive one by one, with that pause between two.
    Drip(Duration),
    /// Connections stay open and nothing arrives any more.
    Silent,
    /// Connections break once the server has said that many bytes.
    CutAfter(usize),
    /// Connections break as soon as they are made.
    Refusing,
    /// Everything arrives at once, and connections wait for a server that is away.
    Patient,
}

/// A running proxy; it ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    network: watch::Sender<Network>,
    /// Counts up whenever all connections are to break.
    cuts: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy in front of a server.
    pub async fn before(server: SocketAddr, network: Network) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (network, weather) = watch::channel(network);
        let (cuts, cut) = watch::channel(0);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, weather.clone(), cut.clone()));
            }
        });
        Ok(Proxy { address, network, cuts, task })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what the network is like, for open connections too.
    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }

    /// Breaks every connection that is open now.
    pub fn cut(&self) {
        self.cuts.send_modify(|count| *count += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

/// Carries one connection until either side, or the network, ends it.
async fn carry(
    client: TcpStream,
    server: SocketAddr,
    network: watch::Receiver<Network>,
    mut cut: watch::Receiver<u64>,
) {
    cut.mark_unchanged();
    if *network.borrow() == Network::Refusing {
        return;
    }
    let server = loop {
        match TcpStream::connect(server).await {
            Ok(server) => break server,
            Err(_) if *network.borrow() != Network::Patient => return,
            // The proxy has ended.
            Err(_) if cut.has_changed().is_err() => return,
            Err(_) => tokio::time::sleep(LOOK).await,
        }
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    tokio::select! {
        _ = pump(from_client, to_server, network.clone(), Side::Client) => {}
        _ = pump(from_server, to_client, network, Side::Server) => {}
        _ = cut.changed() => {}
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Client,
    Server,
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut network: watch::Receiver<Network>,
    side: Side,
) -> std::io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut carried = 0;
    loop {
        let size = from.read(&mut piece).await?;
        if size == 0 {
            return Ok(());
        }
        let mut weather = *network.borrow_and_update();
        while weather == Network::Silent {
            if network.changed().await.is_err() {
                return Ok(());
            }
            weather = *network.borrow_and_update();
        }
        carried += size;
        match weather {
            Network::Slow(time) => {
                tokio::time::sleep(time).await;
                to.write_all(&piece[..size]).await?;
            }
            Network::Drip(pause) if side == Side::Server => {
                for byte in &piece[..size] {
                    to.write_all(std::slice::from_ref(byte)).await?;
                    tokio::time::sleep(pause).await;
                }
            }
            Network::CutAfter(most) if side == Side::Server && carried > most => {
                let kept = size.saturating_sub(carried - most);
                to.write_all(&piece[..kept]).await?;
                return Ok(());
            }
            _ => to.write_all(&piece[..size]).await?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that repeats what it hears.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        address
    }

    /// The bytes that come back of "0123456789", up to the end of the connection or of a moment.
    async fn heard(proxy: &Proxy) -> String {
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        let _ = stream.write_all(b"0123456789").await;
        let (mut text, mut byte) = (Vec::new(), [0; 1]);
        let moment = Duration::from_millis(500);
        while let Ok(Ok(1)) = tokio::time::timeout(moment, stream.read(&mut byte)).await {
            text.push(byte[0]);
            if text.len() == 10 {
                break;
            }
        }
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn the_network_is_as_it_was_told_to_be() {
        let proxy = Proxy::before(echo().await, Network::Good).await.unwrap();
        for (network, text) in [
            (Network::Good, "0123456789"),
            (Network::Slow(Duration::from_millis(5)), "0123456789"),
            (Network::Drip(Duration::from_millis(2)), "0123456789"),
            (Network::Silent, ""),
            (Network::CutAfter(4), "0123"),
            (Network::Refusing, ""),
            (Network::Good, "0123456789"),
        ] {
            proxy.set(network);
            assert_eq!(heard(&proxy).await, text, "{network:?}");
        }
    }

    #[tokio::test]
    async fn what_was_held_back_arrives_when_the_network_is_good_again_and_a_cut_ends_all() {
        let proxy = Proxy::before(echo().await, Network::Silent).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        stream.write_all(b"late").await.unwrap();
        proxy.set(Network::Good);
        let mut text = [0; 4];
        stream.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"late");
        proxy.cut();
        assert!(matches!(stream.read(&mut text).await, Ok(0) | Err(_)));
    }
}
