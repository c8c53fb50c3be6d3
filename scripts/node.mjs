// @ts-check
/**
 * Runs `npm run node`: provides what a real node is made of, for `npm start -- --node` and for tests: programs, and
 * images as archives. Starts no node; lab/playground/node does.
 */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { postgresqlFolder } from "../lab/playground/branches/postgresql.ts"
import { defaultVersion, isProgram } from "../lab/playground/kubernetes/programs.ts"
import {
  builtPrograms,
  findNode,
  missingPackaged,
  nodeFolder,
  nodeImages,
  unfitForNodes
} from "../lab/playground/node/node-files.ts"
import { bundle } from "./bundle.mjs"
import { buildGoPrograms } from "./go-programs.mjs"
import { image } from "./image.mjs"
import { librariesOf, machineFile, machineFolder, systemFiles } from "./image/machine-files.mjs"
import { ociArchive } from "./image/oci-archive.mjs"
import { runProgram as run } from "./run-program.mjs"

/** @import {Entry} from "./image/oci-archive.mjs" */

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = nodeFolder(process.env)
const images = join(folder, "images")

const help = `npm run node

Provides what a real node of Kubernetes is made of, and prints its folder as the last line:

  containerd, runc, network plugins and
  the tools of networks                  Debian's packages, which root installs with apt-get; nothing is started
  kubelet, kube-proxy, kube-scheduler,
  CoreDNS, network-policies              built with Go
  images                                 the operator's as \`npm run image\` makes it, that of a demo workload; those of
                                         PostgreSQL, where it is installed, and of mirrord's own agent, if
                                         MIRRORD_AGENT_BIN names the program

  --help  this text

What is there is not made again, but for the images of this repository. On a machine where no node can be started
nothing is made, and the exit code is 2. The folder is $BRAID_CACHE/node; BRAID_CACHE is ~/.cache/braid unless set. To
use it: npm start -- --node`

/** @param {string} message @param {number} [code] @returns {never} */
const fail = (message, code = 1) => {
  console.error(`npm run node: ${message}`)
  process.exit(code)
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error))

/**
 * Waits for the end of all works, since each removes what it has made besides. Says at once which has failed.
 *
 * @param {ReadonlyArray<Promise<unknown>>} works
 */
const allToTheirEnd = async (works) => {
  const done = works.map((work) =>
    work.then(
      () => true,
      (error) => void console.error(`npm run node: ${messageOf(error)}`)
    )
  )
  if ((await Promise.all(done)).includes(undefined)) process.exit(1)
}

/** Packages of the programs that Debian has. */
const packages = [
  "containerd",
  "runc",
  "containernetworking-plugins",
  "iptables",
  "conntrack",
  "ipset",
  "iproute2",
  "util-linux",
  "procps"
]

const installPackages = async () => {
  const missing = missingPackaged(process.env)
  if (missing.length === 0) return
  const named = packages.join(" ")
  if (process.getuid?.() !== 0) fail(`${missing.join(", ")} missing: run \`apt-get install ${named}\` as root`)
  console.error(`${missing.join(", ")}: apt-get`)
  // Services that come with the packages are not started (RUNLEVEL).
  const env = { RUNLEVEL: "1", DEBIAN_FRONTEND: "noninteractive" }
  const command = ["apt-get", "install", "-qq", "--no-install-recommends", "--yes", ...packages]
  await run(named, command, { env }).catch(async () => {
    await run(named, ["apt-get", "update", "-qq"])
    await run(named, command, { env })
  })
}

const buildPrograms = async () => {
  /** @param {ReadonlyArray<string>} names @param {string} from the packages' path before their names */
  const missing = (names, from) =>
    names.filter((name) => !isProgram(join(folder, name))).map((name) => ({ name, package: `${from}/${name}` }))
  const kubernetes = missing(builtPrograms, "k8s.io/kubernetes/cmd")
  const module = join(root, "test/kubernetes/modules", defaultVersion)
  const stamps = [`k8s.io/component-base/version.gitVersion=v${defaultVersion}`]
  if (kubernetes.length > 0) await buildGoPrograms({ module, programs: kubernetes, folder, stamps })
  const own = missing(["coredns", "pause", "network-policies"], ".")
  if (own.length > 0) await buildGoPrograms({ module: join(root, "test/node/module"), programs: own, folder })
}

/**
 * Writes an image of one layer.
 *
 * @param {string} file @param {string} name @param {ReadonlyArray<Entry>} entries
 * @param {Readonly<Record<string, unknown>>} config
 */
const writeImage = (file, name, entries, config) => {
  const platforms = [
    { architecture: process.arch === "x64" ? "amd64" : "arm64", layers: [{ comment: name, entries }], config }
  ]
  const { archive } = ociArchive({ name, created: 0, labels: {}, platforms })
  // As a whole or not at all: a playground may be reading it.
  const beside = join(images, `.${file}.${process.pid}`)
  try {
    writeFileSync(beside, archive)
    renameSync(beside, join(images, `${file}.tar`))
  } finally {
    rmSync(beside, { force: true })
  }
}

/** Programs without libraries are images by themselves. */
const writeProgramImages = () => {
  for (const name of /** @type {const} */ (["pause", "coredns"]))
    writeImage(name, nodeImages[name], [machineFile(join(folder, name), name)], {
      Entrypoint: [`/${name}`],
      ...(name === "pause" ? { User: "65535:65535" } : {})
    })
}

/** The programs of a shell, as images of engines and of workloads have them; `kubectl cp` needs `tar`. */
const shellTools = [
  ...["sh", "sed", "grep", "cat", "rm", "mv", "mkdir", "sleep", "chmod", "ls", "date", "tar"].map(
    (name) => `/bin/${name}`
  ),
  ...["awk", "cut", "dirname", "basename", "env", "head", "tail", "tr", "wc", "sort", "paste", "id", "sha256sum"].map(
    (name) => `/usr/bin/${name}`
  )
]

const writeDemoImage = async () => {
  const node = join(root, "node_modules/node/bin/node")
  const bundled = mkdtempSync(join(tmpdir(), "braid-demo-"))
  try {
    await bundle({ root, programs: { demo: "lab/playground/node/demo-server.ts" }, out: bundled })
    const entries = [
      ...systemFiles,
      ...(await librariesOf(run, [node, ...shellTools])),
      ...shellTools.map((path) => machineFile(path)),
      machineFile(node, image.node),
      machineFile(join(bundled, "demo.mjs"), "app/demo.mjs"),
      { path: "tmp", mode: 0o1777 }
    ]
    writeImage("demo", nodeImages.demo, entries, { Entrypoint: [image.node, "/app/demo.mjs"] })
  } finally {
    rmSync(bundled, { recursive: true, force: true })
  }
}

/** The tools that the agent's image has beside the agent, as Debian has them. */
const agentTools = [
  ...["iptables-nft", "iptables-legacy", "ip6tables-nft", "ip6tables-legacy", "conntrack"].map(
    (name) => `/usr/sbin/${name}`
  ),
  ...["ss", "sleep", "cat"].map((name) => `/usr/bin/${name}`)
]

/** The image of mirrord's own agent under its published name, where the program is. */
const writeAgentImage = async () => {
  const agent = process.env["MIRRORD_AGENT_BIN"] ?? ""
  if (!isProgram(agent))
    return console.error(
      existsSync(join(images, "agent.tar"))
        ? "the image of the agent stays as it was: MIRRORD_AGENT_BIN names no program"
        : "no image of the agent: MIRRORD_AGENT_BIN names no program"
    )
  const version = (await run("the agent", [agent, "--version"])).trim().split(" ").at(-1) ?? ""
  const extensions = "/usr/lib/x86_64-linux-gnu/xtables"
  const entries = [
    ...systemFiles,
    ...(await librariesOf(run, [agent, ...agentTools])),
    ...agentTools.map((path) => machineFile(path)),
    ...(existsSync(extensions) ? machineFolder(extensions) : []),
    ...["/etc/protocols", "/etc/services"].filter(existsSync).map((path) => machineFile(path)),
    machineFile(agent, "mirrord-agent"),
    { path: "run/xtables.lock", mode: 0o600, data: Buffer.alloc(0) },
    { path: "tmp", mode: 0o1777 }
  ]
  writeImage("agent", `ghcr.io/metalbear-co/mirrord:${version}`, entries, {
    Entrypoint: ["./mirrord-agent"],
    WorkingDir: "/"
  })
}

/** The image of PostgreSQL for branches, of the machine's own version, where it is installed. */
const writePostgresqlImage = async () => {
  if (postgresqlFolder === undefined) return console.error("no image of PostgreSQL: `npm run engines` brings it")
  const [bin, version = ""] = [postgresqlFolder, basename(dirname(postgresqlFolder))]
  const programs = readdirSync(bin).map((name) => join(bin, name))
  // The compiler of queries is larger than the rest, and tests compile none.
  const libraries = machineFolder(join(dirname(bin), "lib"), (path) => !/bitcode|llvm|pgxs/u.test(path))
  const loaded = await librariesOf(run, [...programs, ...shellTools])
  const entries = [
    ...systemFiles,
    ...loaded,
    ...[...programs, ...shellTools].map((path) => machineFile(path)),
    ...libraries,
    ...machineFolder(`/usr/share/postgresql/${version}`, (path) => !/\/(man|tsearch_data)\//u.test(path)),
    ...["UTC", "Etc/UTC"].map((name) => machineFile(`/usr/share/zoneinfo/${name}`)),
    { path: "tmp", mode: 0o1777 }
  ]
  writeImage("postgresql", `docker.io/library/postgres:${version}`, entries, { Env: [`PATH=${bin}:/usr/bin:/bin`] })
}

/** The operator's image, made as for a release; the last one stays if it is of this very commit. */
const makeOperatorImage = async () => {
  const [file, noted] = [join(images, "braid.tar"), join(folder, "braid.revision")]
  const git = (/** @type {string[]} */ ...args) => run("the commit", ["git", "-C", root, ...args])
  const isClean = (await git("status", "--porcelain")).trim() === ""
  const revision = (await git("rev-parse", "HEAD")).trim()
  const isThere = existsSync(file) && existsSync(noted) && readFileSync(noted, "utf8") === revision
  if (isClean && isThere) return
  rmSync(noted, { force: true })
  const architecture = process.arch === "x64" ? "amd64" : "arm64"
  const command = [process.execPath, join(root, "scripts/make-image.mjs")]
  // It says where it takes other packages than the pinned.
  await run("npm run image", [...command, "--platform", `linux/${architecture}`, "--out", file], { isHeard: true })
  if (isClean) writeFileSync(noted, revision)
}

const main = async () => {
  const { values } = parseArgs({ options: { help: { type: "boolean" } } })
  if (values.help) return console.log(help)
  const why = unfitForNodes()
  if (why !== undefined) fail(`no node can be started here: ${why}`, 2)
  mkdirSync(images, { recursive: true })
  await installPackages()
  await allToTheirEnd([
    buildPrograms().then(writeProgramImages),
    writeDemoImage(),
    writeAgentImage(),
    writePostgresqlImage(),
    makeOperatorImage()
  ])
  const found = findNode(process.env)
  if (typeof found === "string") fail(`no node can be started here: ${found}`)
  console.log(folder)
}

await main().catch((error) => fail(messageOf(error)))
