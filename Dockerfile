# What `npm pack` ships, with its production packages, and nothing that builds or tests it. The embedded PostgreSQL stays out:
# a container's store is DATABASE_URL.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npx tsc --build
RUN npm pack --ignore-scripts --pack-destination .. && mkdir ../image && tar -xzf ../installation-gateway-*.tgz --strip-components=1 -C ../image

FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /image ./
# Nothing here is this user's: with GATEWAY_KEYS the root file system can be read-only.
USER node
EXPOSE 8787
# Asks this very process, whose certificate is for another name.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const { HOST: host, PORT: port, GATEWAY_TLS_CERT: tls } = process.env; require(tls ? 'https' : 'http').get({ host, port, path: '/readyz', rejectUnauthorized: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["serve"]
