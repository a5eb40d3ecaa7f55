# The program in a small image, not as root.
# docs/packages.md says how to run it.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY web web
COPY xtask xtask
RUN cargo build --locked --package trove --profile dist && mkdir /state

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="Trove" \
      org.opencontainers.image.description="One door to every MCP resource" \
      org.opencontainers.image.licenses="Apache-2.0 OR MIT"
COPY LICENSE-APACHE LICENSE-MIT THIRD-PARTY-NOTICES /usr/share/doc/trove/
COPY --from=build /src/target/dist/trove /usr/bin/trove
COPY --from=build --chown=65532:65532 /state /state
USER 65532:65532
# /config/trove/trove.toml and /config/trove/guide are mounted; the state is kept.
ENV XDG_CONFIG_HOME=/config
ENV TROVE_HOME=/state
VOLUME /state
EXPOSE 7420
ENTRYPOINT ["/usr/bin/trove"]
CMD ["serve", "--http", "0.0.0.0:7420"]
