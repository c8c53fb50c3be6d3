// @ts-check
/**
 * Describes the operator's image: its content, and its Containerfile. `npm run build` stages the same tree, so that it
 * can be examined and started without a container engine. Builds no image.
 */

export const image = {
  /** The chart's `operator.image`; the tag is the version. */
  name: "ghcr.io/braid-operator/braid",
  /** Brings npm, which installs the dependencies and the bundler. The Node that runs is the one of `base`. */
  builder: "docker.io/library/node:24-trixie-slim",
  /** Node 24 and the libraries that it needs; no shell, no package manager. */
  base: "gcr.io/distroless/nodejs24-debian13:nonroot",
  node: "/nodejs/bin/node",
  /**
   * The heap follows the container's limit: a larger part than by default, since little else grows, but not so much
   * that buffers of connections, TLS and code have no room. The young generation stays small: what a busy connection
   * throws away is in there, and it is never given back. Between two full collections the heap may double: what buffers
   * of messages take counts as heap, and by a third, the default in such a container, bodies of 64 KiB brought a full
   * collection every 25 requests.
   */
  options: ["--max-old-space-size-percentage=40", "--max-semi-space-size=2", "--heap-growing-percent=100"],
  /** glibc keeps freed memory per arena, and makes eight arenas per core, which is more than the heap after a burst. */
  environment: { MALLOC_ARENA_MAX: "2" },
  /** `nonroot` of distroless images. Every file can be read by everybody, so any other user will do, too. */
  user: 65532,
  /** The folder of the tree in the image. */
  root: "/app",
  entry: "braid.mjs",
  /** The program from which the entry is bundled. */
  program: "src/app/braid.ts",
  /** The programs of threads, by the name of the file beside it. */
  workers: { "jq-worker": "src/adapters/jq/jq-worker.ts" },
  /** Files of the repository that the tree holds as they are, beside the program and its licences. */
  files: ["LICENSE"],
  /** Files that are needed only to build the tree. */
  buildFiles: ["package.json", "package-lock.json", ".npmrc", "scripts", "src", "tsconfig.json"]
}

/**
 * The image's labels, by the OCI's names. A Containerfile leaves out the revision, which it cannot know.
 *
 * @param {string} version @param {string} [revision] the commit
 * @returns {Readonly<Record<string, string>>}
 */
export const imageLabels = (version, revision) => ({
  "org.opencontainers.image.title": "braid",
  "org.opencontainers.image.description": "One mirrord session over many Kubernetes clusters",
  "org.opencontainers.image.licenses": "MIT",
  "org.opencontainers.image.source": "https://github.com/braid-operator/braid",
  "org.opencontainers.image.version": version,
  ...(revision === undefined ? {} : { "org.opencontainers.image.revision": revision })
})

/** The folder in which `npm run build` stages the tree. */
export const staged = "dist/image"

/** The command line of the image's program. */
export const entrypoint = [image.node, ...image.options, `${image.root}/${image.entry}`]

const builtIn = "/build"

/** @param {string} version */
export const containerfile = (version) => `# Written by scripts/generate-containerfile.mjs from scripts/image.mjs.
#   docker build --file Containerfile --tag ${image.name}:${version} .
# It runs with a read-only root file system, as the chart has it, and writes to /tmp alone.

FROM ${image.builder} AS build
WORKDIR ${builtIn}
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
${[...image.files, ...image.buildFiles]
  .filter((file) => !/^package|^\.npmrc$/u.test(file))
  .toSorted()
  .map((file) => `COPY ${file} ${file}`)
  .join("\n")}
RUN npm run build

FROM ${image.base}
LABEL ${Object.entries(imageLabels(version))
  .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  .join(" \\\n      ")}
COPY --from=build --chown=0:0 ${builtIn}/${staged} ${image.root}
WORKDIR ${image.root}
USER ${image.user}:${image.user}
ENV ${Object.entries(image.environment)
  .map(([name, value]) => `${name}=${value}`)
  .join(" ")}
ENTRYPOINT [${entrypoint.map((word) => JSON.stringify(word)).join(", ")}]
`
