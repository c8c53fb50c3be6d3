// @ts-check
/**
 * Runs `npm run engines`: provides the programs of database engines and of queues, for tests. Installed programs are
 * used as they are; the rest comes from Debian's packages, Go modules, npm and Maven. Starts no server.
 */

import { spawnSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { engineProgram, enginesFolder, furtherEngines } from "../lab/playground/engine-programs.ts"
import { unfitMachine, unpackSuite } from "./debian-suite.mjs"
import { runProgram as run } from "./run-program.mjs"

const modules = fileURLToPath(new URL("../test/real/engines/modules", import.meta.url))
const cache = enginesFolder(process.env)
const programs = join(cache, "bin")

const help = `npm run engines

Provides the programs of database engines with which branches are tested, and of a server of queues, and prints their
folder as the last line; does nothing if they are there:

  PostgreSQL, MariaDB, Redis,
  ClickHouse                   Debian's packages, which root installs with apt-get; no server is started
  FerretDB                     a stand-in for MongoDB's server, built with Go
  mongodump, mongorestore      MongoDB's own, built with Go
  mongosh                      MongoDB's own, from npm
  PostgreSQL 17, MySQL 9       beside the machine's own: Debian's packages of newer suites, unpacked with their
                               libraries. Nothing is installed; the machine must be Debian 12 on x86-64
  DynamoDB Local               Amazon's own, from Maven Central, under its licence: for the development and the tests of
                               one's own programs, and not to be passed on
  Flyway                       from Maven Central, for migrations of branches
  ElasticMQ                    a stand-in for Amazon SQS, from Maven Central

  --help  this text

The folder is $BRAID_CACHE/engines/bin; BRAID_CACHE is ~/.cache/braid unless set, and /var/cache/braid for root, whose
engines run as another user. Tests look there by themselves.`

/** @param {string} message @returns {never} */
const fail = (message) => {
  console.error(`npm run engines: ${message}`)
  process.exit(1)
}

/** Programs that Debian and Ubuntu have as packages. */
const packaged = [
  {
    packages: ["postgresql"],
    isThere: () => {
      const root = "/usr/lib/postgresql"
      return existsSync(root) && readdirSync(root).some((version) => existsSync(join(root, version, "bin", "initdb")))
    }
  },
  {
    packages: ["mariadb-server-core", "mariadb-client"],
    isThere: () => areThere("mariadbd", "mariadb-install-db", "mariadb-dump", "mariadb")
  },
  { packages: ["redis-server"], isThere: () => areThere("redis-server", "redis-cli") },
  // Its programs need libpcre3, which they do not name.
  {
    packages: ["clickhouse-server", "clickhouse-client", "libpcre3"],
    isThere: () => areThere("clickhouse-server", "clickhouse-client")
  }
]

/** @param {ReadonlyArray<string>} names */
const areThere = (...names) => names.every((name) => engineProgram(name, process.env) !== undefined)

const installPackages = async () => {
  const packages = packaged.filter(({ isThere }) => !isThere()).flatMap(({ packages }) => packages)
  if (packages.length === 0) return
  const named = packages.join(" ")
  if (spawnSync("apt-get", ["--version"]).status !== 0) fail(`install ${named}: there is no apt-get to do it`)
  if (process.getuid?.() !== 0) fail(`${named} are missing: run \`apt-get install ${named}\` as root`)
  // The servers that come with the packages are not started (RUNLEVEL).
  const env = { RUNLEVEL: "1", DEBIAN_FRONTEND: "noninteractive" }
  const command = ["apt-get", "install", "-qq", "--no-install-recommends", "--yes", ...packages]
  console.error(`${named}: apt-get`)
  if (spawnSync(command[0] ?? "", command.slice(1), { env: { ...process.env, ...env }, stdio: "ignore" }).status === 0)
    return
  await run(named, ["apt-get", "update", "-qq"])
  await run(named, command, { env })
}

/**
 * Programs that are made in a folder of their own: what is in it, and how it is made.
 *
 * @typedef {{
 *   readonly name: string
 *   readonly version: string
 *   readonly programs: Readonly<Record<string, string>>
 *   readonly make: (folder: string) => Promise<void>
 * }} Made
 */

const goFlags = ["-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags", "-s -w"]
const goEnv = { CGO_ENABLED: "0", GOFLAGS: "", GOGC: process.env["GOGC"] ?? "400" }

/**
 * The stand-in needs two changes. MongoDB asks for no login until its server is told to, and a branch's user has a
 * role, which FerretDB does not know: its users may do everything.
 *
 * @type {ReadonlyArray<readonly [file: string, old: string, text: string]>}
 */
const ferretChanges = [
  ["commands.go", "h.EnableNewAuth && !cmd.anonymous", "h.EnableNewAuth && needsLogin && !cmd.anonymous"],
  ["msg_createuser.go", "return ok && r.Len() == 0", "return ok && r != nil"]
]
const needsLogin = `package handler

import "os"

var needsLogin = os.Getenv("FERRETDB_LOGIN") != "off"
`

/** @type {Made} */
const ferretdb = {
  name: "ferretdb",
  version: "1.24.2",
  programs: { ferretdb: "ferretdb" },
  make: async (folder) => {
    const module = `github.com/FerretDB/FerretDB@v${ferretdb.version}`
    const told = await run("ferretdb", ["go", "mod", "download", "-json", module], { cwd: folder, env: goEnv })
    const source = join(folder, "source")
    cpSync(JSON.parse(told).Dir, source, { recursive: true })
    await run("ferretdb", ["chmod", "-R", "u+w", source])
    const handler = join(source, "internal", "handler")
    for (const [name, old, text] of ferretChanges) {
      const file = join(handler, name)
      const before = readFileSync(file, "utf8")
      if (!before.includes(old)) fail(`ferretdb: ${name} has no ${old}`)
      writeFileSync(file, before.replace(old, text))
    }
    writeFileSync(join(handler, "needs_login.go"), needsLogin)
    writeFileSync(join(source, "build", "version", "version.txt"), `v${ferretdb.version}\n`)
    const target = join(folder, "ferretdb")
    await run("ferretdb", ["go", "build", ...goFlags, "-o", target, "./cmd/ferretdb"], { cwd: source, env: goEnv })
    rmSync(source, { recursive: true })
  }
}

/** @type {Made} */
const mongoTools = {
  name: "mongo-tools",
  version: "20240711",
  programs: { mongodump: "mongodump", mongorestore: "mongorestore" },
  make: async (folder) => {
    for (const name of Object.keys(mongoTools.programs)) {
      const from = `github.com/mongodb/mongo-tools/${name}/main`
      await run(name, ["go", "build", "-mod=readonly", ...goFlags, "-o", join(folder, name), from], {
        cwd: join(modules, "mongo-tools"),
        env: goEnv
      })
    }
  }
}

/** @type {Made} */
const mongosh = {
  name: "mongosh",
  version: "2.12.0",
  programs: { mongosh: "node_modules/.bin/mongosh" },
  make: async (folder) => {
    cpSync(join(modules, "mongosh"), folder, { recursive: true })
    await run("mongosh", ["npm", "ci", "--ignore-scripts", "--omit=optional"], { cwd: folder })
  }
}

/**
 * A program of another suite, which says its version.
 *
 * @param {string} what @param {string} program @param {string} version
 */
const checkVersion = async (what, program, version) => {
  const told = await run(what, [program, "--version"])
  if (!told.includes(` ${version}.`)) fail(`${what}: its version has to be ${version}, and it is: ${told}`)
}

const { mysql, postgresql } = furtherEngines

/** The newest PostgreSQL of a stable suite. @type {Made} */
const furtherPostgresql = {
  ...postgresql,
  programs: {},
  make: async (folder) => {
    const { bin, version } = postgresql
    const programs = ["initdb", "pg_ctl", "pg_dump", "pg_isready", "pg_restore", "postgres", "psql"]
    await unpackSuite(run, folder, {
      suite: "trixie",
      packages: [`postgresql-${version}`, `postgresql-client-${version}`],
      bin,
      programs: programs.map((program) => join(bin, program)),
      needless: ["bitcode", "llvmjit.so"].map((name) => join(bin, "..", "lib", name))
    })
    for (const program of programs) await checkVersion(postgresql.name, join(folder, bin, program), version)
  }
}

/** MySQL, which is in no stable suite. @type {Made} */
const furtherMysql = {
  ...mysql,
  programs: {},
  make: async (folder) => {
    const { bin, version } = mysql
    const programs = ["usr/sbin/mysqld", "usr/bin/mysql", "usr/bin/mysqldump"]
    await unpackSuite(run, folder, {
      suite: "sid",
      packages: ["mysql-server-core", "mysql-client-core"],
      bin,
      programs,
      needless: []
    })
    for (const program of programs) await checkVersion(mysql.name, join(folder, bin, basename(program)), version)
  }
}

/**
 * Makes what a pom among the modules says.
 *
 * @param {string} name @param {string} folder
 */
const packageWithMaven = async (name, folder) => {
  cpSync(join(modules, name), folder, { recursive: true })
  await run(name, ["mvn", "--quiet", "--batch-mode", "package"], { cwd: folder })
}

/**
 * A server in Java. As a program, which its jar is for Java, it is found by those who look for programs.
 *
 * @param {string} name @param {string} version @param {string} jar @returns {Made}
 */
const javaServer = (name, version, jar) => ({
  name,
  version,
  programs: { [jar]: jar },
  make: async (folder) => {
    await packageWithMaven(name, folder)
    rmSync(join(folder, "target"), { recursive: true })
    chmodSync(join(folder, jar), 0o755)
  }
})
const dynamodbLocal = javaServer("dynamodb-local", "2.6.1", "DynamoDBLocal.jar")
const elasticmq = javaServer("elasticmq", "1.7.1", "elasticmq.jar")

/** @type {Made} */
const flyway = {
  name: "flyway",
  version: "12.4.0",
  programs: { flyway: "flyway" },
  make: (folder) => packageWithMaven(flyway.name, folder)
}

/** @param {Made} engine */
const provide = async ({ make, name, programs: own, version }) => {
  const folder = join(cache, `${name}-${version}`)
  if (!existsSync(folder)) {
    const began = Date.now()
    const temporary = `${folder}.${process.pid}`
    mkdirSync(temporary, { recursive: true })
    // Any failure ends this process.
    process.on("exit", () => rmSync(temporary, { recursive: true, force: true }))
    await make(temporary).catch((/** @type {unknown} */ error) => fail(`${name}: ${String(error)}`))
    renameSync(temporary, folder)
    console.error(`${name} ${version}: made in ${Math.round((Date.now() - began) / 1000)} s`)
  }
  for (const [program, path] of Object.entries(own)) {
    const link = join(programs, program)
    rmSync(link, { force: true })
    symlinkSync(join(folder, path), link)
  }
}

/**
 * Tools that make or run programs, each with the arguments for its version, and what to install.
 *
 * @type {ReadonlyArray<readonly [name: string, command: string, argument: string, cure: string]>}
 */
const tools = [
  ["Go", "go", "version", "Go 1.26 or newer (https://go.dev/dl)"],
  ["Java", "java", "-version", "Java 17 or newer"],
  ["Maven", "mvn", "--version", "Maven 3.6 or newer"]
]

const main = async () => {
  try {
    if (parseArgs({ options: { help: { type: "boolean" } } }).values.help) return console.log(help)
  } catch (error) {
    fail(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
  for (const [name, command, argument, cure] of tools) {
    if (spawnSync(command, [argument]).status !== 0) fail(`${name} is missing: install ${cure}`)
  }
  mkdirSync(programs, { recursive: true })
  await installPackages()
  const unfit = unfitMachine()
  const further = unfit === undefined ? [furtherPostgresql, furtherMysql] : []
  // Some wait for the network while others compute.
  await Promise.all([
    provide(mongosh),
    provide(mongoTools).then(() => provide(ferretdb)),
    provide(dynamodbLocal)
      .then(() => provide(flyway))
      .then(() => provide(elasticmq)),
    ...further.map(provide)
  ])
  const named = [postgresql, mysql].map(({ title, version }) => `${title} ${version}`).join(" and ")
  if (unfit !== undefined) fail(`${named} can be had on Debian 12 on x86-64 only, and this machine is ${unfit}`)
  console.log(programs)
}

await main().catch((error) => fail(error instanceof Error ? error.message : String(error)))
