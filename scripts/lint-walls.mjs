// @ts-check
/**
 * The walls of the house as a lint plugin: `lab → src/app → src/adapters → src/ports → src/domain`, the rooms of
 * `src/app` and of `lab` among each other, and a pure domain. Imports are resolved to files, so that neither a detour
 * (`../../app`) nor a folder that happens to be called `ports` matters. Lines and comments are checked in
 * lint-house.mjs.
 */

import { readFileSync } from "node:fs"
import { isBuiltin } from "node:module"
import path from "node:path"

/**
 * @import {RuleTester} from "oxlint/plugins-dev"
 * @typedef {Extract<Parameters<RuleTester["run"]>[1], { create: unknown }>} Rule
 *
 * @typedef {Parameters<NonNullable<Rule["create"]>>[0]} Context
 *
 * @typedef {ReturnType<NonNullable<Rule["create"]>>} Visitor
 *
 * @typedef {Parameters<NonNullable<Visitor["Identifier"]>>[0]["parent"]} Node
 *
 * @typedef {Context["sourceCode"]["scopeManager"]["scopes"][number]["references"][number] & {
 *   isTypeReference?: boolean
 * }} Reference
 */

/** The project: the folder above this file's, wherever the linter was started. */
const root = path.dirname(import.meta.dirname)

/** Each room knows the types of the cards. @param {ReadonlyArray<string>} others */
const inDomain = (...others) => ["src/domain", ...["catalogue", ...others].map((room) => `src/domain/${room}`)]

/** A capability knows what is below it, never its neighbour. @param {ReadonlyArray<string>} others */
const inApp = (...others) => [
  "src/domain/**",
  "src/ports/**",
  "src/adapters/**",
  ...others.map((room) => `src/app/${room}`)
]

/** @param {ReadonlyArray<string>} others */
const inCluster = (...others) => ["src/**", ...others.map((room) => `lab/cluster/${room}`)]

/** The rooms that each room may import beside itself. `/**` stands for the room and all rooms in it. */
export const mayImport = /** @type {Readonly<Record<string, ReadonlyArray<string>>>} */ ({
  "src/domain": [],
  "src/domain/catalogue": inDomain(),
  "src/domain/server": inDomain("resources"),
  "src/domain/resources": inDomain(),
  "src/domain/protocol": inDomain(),
  "src/domain/websocket": inDomain(),
  "src/domain/tracing": inDomain(),
  "src/domain/relay": inDomain("protocol"),
  "src/domain/leadership": inDomain("resources"),
  "src/domain/targets": inDomain("resources", "protocol"),
  "src/domain/fleet/credentials": inDomain("resources"),
  "src/domain/fleet": inDomain("resources", "protocol", "fleet/credentials"),
  "src/domain/agents": inDomain("resources", "targets", "fleet", "fleet/credentials"),
  "src/domain/policies": inDomain("resources", "protocol", "targets"),
  "src/domain/policies/tls": inDomain("resources", "policies"),
  "src/domain/sessions": inDomain("resources", "protocol", "relay", "targets", "fleet", "fleet/credentials"),
  "src/domain/sharding": inDomain("leadership", "sessions", "fleet"),
  "src/domain/fleet/sharding": inDomain("fleet", "sharding"),
  "src/domain/copies": inDomain("resources", "targets", "fleet", "sessions"),
  "src/domain/branches": inDomain("resources", "protocol", "targets", "agents", "fleet", "policies", "sessions"),
  "src/domain/queues": inDomain("resources", "targets", "sessions", "fleet/credentials", "sharding"),
  "src/domain/outbound": inDomain("resources", "protocol", "fleet", "fleet/credentials", "policies"),
  "src/domain/events": inDomain("resources", "fleet", "sessions", "branches", "queues"),
  "src/domain/metrics": inDomain("resources", "sessions", "queues"),
  "src/domain/usage": inDomain("resources", "targets", "sessions"),
  "src/domain/commands": inDomain(
    "resources",
    "server",
    "protocol",
    "leadership",
    "targets",
    "agents",
    "policies",
    "policies/tls",
    "fleet",
    "fleet/credentials",
    "fleet/sharding",
    "sessions",
    "copies",
    "branches",
    "queues",
    "outbound",
    "events",
    "usage"
  ),
  "src/ports": ["src/domain/**"],
  "src/adapters": ["src/domain/**", "src/ports/**"],
  "src/app/kernel": inApp(),
  "src/app/api": inApp("kernel"),
  "src/app/relay": inApp("kernel"),
  "src/app/fleet": inApp("kernel"),
  "src/app/leadership": inApp("kernel", "api"),
  "src/app/sharding": inApp("kernel", "leadership"),
  "src/app/fleet/sharding": inApp("kernel", "fleet", "leadership", "sharding"),
  "src/app/certificates": inApp("kernel", "api"),
  "src/app/services": inApp("kernel", "api"),
  "src/app/policies": inApp("kernel", "api", "services"),
  "src/app/branches": inApp("kernel", "api", "services"),
  "src/app/sessions": inApp("kernel", "relay"),
  "src/app/sessions/primary": inApp("kernel", "api", "services", "relay", "fleet", "sessions"),
  "src/app/sessions/member": inApp("kernel", "api", "services", "branches", "queues", "relay", "sessions"),
  "src/app/copies": inApp("kernel", "api", "services", "queues"),
  "src/app/queues": inApp("kernel", "api", "services"),
  "src/app/queues/sharding": inApp("kernel", "leadership", "sharding", "queues"),
  "src/app/queues/sync": inApp("kernel", "api", "services", "queues"),
  "src/app/outbound": inApp("kernel"),
  "src/app/branches/sync": inApp("kernel", "api", "services", "branches"),
  "src/app/metrics": inApp("kernel", "api"),
  "src/app/usage": inApp("kernel", "api", "services"),
  "src/app/dashboard": inApp("kernel", "api"),
  "src/app/operator": inApp(
    "kernel",
    "api",
    "certificates",
    "services",
    "relay",
    "fleet",
    "leadership",
    "sharding",
    "fleet/sharding",
    "policies",
    "branches",
    "sessions/**",
    "copies",
    "queues",
    "branches/sync",
    "usage",
    "queues/sharding",
    "queues/sync",
    "outbound"
  ),
  "src/app/commands": inApp(
    "kernel",
    "api",
    "certificates",
    "fleet",
    "leadership",
    "metrics",
    "operator",
    "branches",
    "copies",
    "queues",
    "outbound",
    "usage",
    "dashboard"
  ),
  "src/app": ["src/**"],
  "lab/memory": ["src/**"],
  "lab/queues": ["src/**"],
  "lab/vectors": ["src/**"],
  "lab/client": ["src/**"],
  "lab/cluster/wire": inCluster(),
  "lab/cluster/schema": inCluster("wire"),
  "lab/cluster/checks": inCluster("wire", "schema"),
  "lab/cluster/store": inCluster("wire", "schema", "checks"),
  "lab/cluster/network": inCluster("wire", "schema", "store"),
  "lab/cluster/controllers": inCluster("wire", "schema", "store"),
  "lab/cluster/http": inCluster("wire", "schema", "checks", "store", "network"),
  "lab/cluster/node": inCluster("wire", "schema", "store", "network"),
  "lab/cluster": ["src/**", "lab/cluster/**"],
  "lab/agent": ["src/**", "lab/cluster/**"],
  "lab/simulation": ["src/**", "lab/memory", "lab/client", "lab/agent"],
  "lab/playground": ["src/**", "lab/memory", "lab/client", "lab/cluster/**", "lab/agent"],
  "lab/fuzz": ["src/**", "lab/client", "lab/cluster/**", "lab/agent", "lab/playground"],
  lab: ["src/**", "lab/**"]
})

/**
 * The content of each room of `mayImport`, in one line, for the tables of CONTRIBUTING.md and
 * docs/concepts/architecture.md (generate-rooms.mjs).
 */
export const holds = /** @type {Readonly<Record<string, string>>} */ ({
  "src/domain": "decisions, data in and data out; the files of the folder itself are what its rooms share",
  "src/domain/catalogue": "declarations for code, chart and pages at once: forms of settings, conditions",
  "src/domain/server": "settings of the operator's server",
  "src/domain/resources": "schemas of the custom resources, from which `crds/` is generated; merge patches, marks",
  "src/domain/protocol": "the mirrord protocol as data; encoder, decoder and skipper follow from one description",
  "src/domain/websocket": "frames of WebSockets (RFC 6455): headers, masks, fragments, close codes, UTF-8",
  "src/domain/tracing": "spans of a session's trace and their attributes, and which traces are kept",
  "src/domain/relay": "the routing table, the router `step` that carries it out, and the locks of ports",
  "src/domain/leadership": "who leads, and how long a lease and its renewals last",
  "src/domain/targets": "target paths, choice of pods and containers",
  "src/domain/fleet/credentials": "kinds of cluster credentials, their renewal and end, PEM",
  "src/domain/fleet": "configuration files and their differences, roles, names and identities of clusters",
  "src/domain/agents": "settings of agents, and which agent can be used",
  "src/domain/policies": "policies: to which targets they apply, and what they forbid",
  "src/domain/policies/tls": "TLS configurations: what an agent gets of them, and when an agent has others",
  "src/domain/sessions": "what to do next with a session: `plan` for a parent, `childPlan` for a child",
  "src/domain/sharding": "what replicas share: whose each thing is to be, what a replica takes, the Leases",
  "src/domain/fleet/sharding": "the Leases of members that replicas share, and the reports on members",
  "src/domain/copies": "copies of targets: requests, the copied pod, its life, the workload that it replaces",
  "src/domain/branches": "branches of databases: requests, pods, engines, variables of sessions, two clusters alike",
  "src/domain/queues": "splits of queues: sources, filters, names, messages, the plan",
  "src/domain/outbound": "tunnels that members dial: their life on both sides, messages, tokens, certificates",
  "src/domain/events": "what `kubectl describe` and the log say of a session",
  "src/domain/metrics": "the catalogue of metrics",
  "src/domain/usage": "records of sessions' use, when they are written, and the reports that are made of them",
  "src/domain/commands": "what `braid doctor`, `status`, `sessions`, `join` and others make of what they saw",
  "src/ports": "interfaces of what the operator needs from the world: `KubeApi`, `Agents`, `FrameChannel`, member link",
  "src/adapters":
    "one folder for each technique; `stream`: what those over sockets share; `engines`: shell of branches",
  "src/app/kernel": "what each capability stands on: controller, reflector, mirrored objects, Events, audit, log",
  "src/app/api": "the aggregated API: HTTP routes, upgrades, callers",
  "src/app/relay": "the router with channels around it, and the locks of ports",
  "src/app/fleet": "connections to the clusters, their credentials, and which clusters there are",
  "src/app/leadership": "election, and the world as a leader may use it",
  "src/app/sharding": "takes, holds and gives up the Leases of what the replicas share",
  "src/app/fleet/sharding": "the members that a replica owns where replicas share them, and the reports on them",
  "src/app/certificates": "certificates of the port, of users and towards agents; the front proxy's authority",
  "src/app/services": "what the operator asks of each capability, and the services by which they use each other",
  "src/app/policies": "the policies of this cluster and of one session; the TLS configurations, for agents",
  "src/app/branches": "makes branches of databases and follows them; their directory, by which sessions use them",
  "src/app/sessions": "what both sides of sessions share",
  "src/app/sessions/primary": "parents, and clients that attach to them",
  "src/app/sessions/member": "children and sessions of one cluster, their agents and links",
  "src/app/copies": "makes and ends copies of targets; on a primary orders them from its clusters",
  "src/app/queues": "forwards the messages of split queues to sessions and workloads, and hands back what is left",
  "src/app/queues/sharding": "the queues of splits that a replica owns where replicas share them",
  "src/app/queues/sync": "configurations of queue splits, which a primary keeps the same in its members",
  "src/app/outbound": "tunnels: the cell that takes them, the outpost that dials, and members reached through them",
  "src/app/branches/sync": "branches that a primary has made in its default cluster",
  "src/app/metrics": "the port of metrics",
  "src/app/dashboard": "the port of the page of use, for an ingress, with the login",
  "src/app/usage": "follows sessions, writes the records of their use, and makes reports of them",
  "src/app/operator": "puts the list of capabilities together: settings, replicas",
  "src/app/commands": "`braid doctor`, `status`, `sessions`, `branches`, `logs`, `join`, `leave`, `cleanup` and others",
  "src/app": "the program `braid`",
  "lab/memory": "an API server of objects in memory, without promises and timers",
  "lab/queues": "Amazon SQS in memory, under virtual time, with its faults",
  "lab/vectors": "golden vectors of the protocol",
  "lab/client": "the strict client",
  "lab/cluster/wire": "encodings of the embedded cluster's API server",
  "lab/cluster/schema": "schemas and defaults of kinds",
  "lab/cluster/checks": "rules of built-in kinds",
  "lab/cluster/store": "stored objects and watches",
  "lab/cluster/network": "Services, and how dials find pods",
  "lab/cluster/controllers": "controllers of built-in kinds",
  "lab/cluster/http": "the API server over HTTP",
  "lab/cluster/node": "the kubelet that runs pods as processes",
  "lab/cluster": "the embedded cluster",
  "lab/agent": "the reference agent",
  "lab/simulation": "stories under virtual time, and their invariants",
  "lab/playground": "`npm start`",
  "lab/fuzz": "hostile input for operators",
  lab: "[the workshop](lab/README.md), which the image does not hold; `src` never imports it"
})

/**
 * The part that the adapters of sockets share: between two sockets, whatever their techniques are, messages pass
 * without leaving the buffers in which they were read.
 */
const commonAdapter = "stream"

/** Packages without input and output, that the domain may use. */
const purePackages = new Set(["effect", "re2js", "yaml"])

/** Packages that the image has. All others are there for lab, test and scripts. */
const imagePackages = new Set(
  Object.keys(JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).dependencies)
)

/** The parts of Effect that only compute. Parts that run, wait or read a clock belong outside of the domain. */
const pureEffect = new Set(
  `Array BigDecimal BigInt Boolean Brand Chunk Combiner Data Encoding Equal Equivalence Function Graph HashMap
  HashRing HashSet Hash Iterable JsonPatch JsonPointer Match MutableHashMap MutableHashSet MutableList
  NonEmptyIterable Number Option Order Ordering Pipeable Predicate Record RecordUndefined Redacted Reducer RegExp
  Result Schema SchemaAST SchemaGetter SchemaIssue SchemaParser SchemaTransformation String Struct Symbol Trie Tuple
  UndefinedOr Duration absurd flow hole identity pipe`.split(/\s+/)
)

/** Globals of the language itself. All others belong to the machine, the clock or chance. */
const pureGlobals = new Set(
  `AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Error EvalError Float32Array
  Float64Array Infinity Int16Array Int32Array Int8Array Iterator JSON Map NaN Number Object Proxy RangeError
  ReferenceError Reflect RegExp Set String Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL
  URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakSet atob btoa decodeURI
  decodeURIComponent encodeURI encodeURIComponent isFinite isNaN parseFloat parseInt structuredClone undefined
  arguments`.split(/\s+/)
)

/** Members of these globals that always give the same for the same arguments; for `Math` all but `random`. */
const pureDate = new Set(["parse", "UTC"])

/**
 * The place of a file: its floor (`src/domain`, `lab`), and its room, the innermost room that has a row above.
 *
 * @param {string} file
 */
const place = (file) => {
  const folders = path.dirname(path.relative(root, file)).split(path.sep)
  const house = folders[0] === "src" || folders[0] === "lab"
  const rooms = folders.map((_, depth) => folders.slice(0, depth + 1).join("/")).filter((room) => room in mayImport)
  return {
    inHouse: house,
    folder: folders.join("/"),
    room: house ? rooms.at(-1) : undefined,
    floor: folders.slice(0, folders[0] === "src" ? 2 : 1).join("/"),
    adapter: folders[1] === "adapters" ? (folders[2] ?? path.basename(file).replace(/\.[cm]?[jt]s$/, "")) : undefined
  }
}

/** @param {string} room @param {string} pattern */
const isOf = (room, pattern) =>
  pattern.endsWith("/**") ? room === pattern.slice(0, -3) || room.startsWith(pattern.slice(0, -2)) : room === pattern

/** @param {string} source */
const packageOf = (source) =>
  source
    .split("/")
    .slice(0, source.startsWith("@") ? 2 : 1)
    .join("/")

/** The version of the program stands in `package.json` alone. @param {string} source */
const isPackageFile = (source) => /^(\.\.\/)+package\.json$/.test(source)

/**
 * The reason why a module may not be imported from a room, or `undefined`.
 *
 * @param {string} source @param {string} file
 */
const importProblem = (source, file) => {
  const here = place(file)
  if (!here.inHouse) return undefined
  if (source.startsWith(".") || source.startsWith("/") || source.startsWith("file:")) {
    const there = place(path.resolve(path.dirname(file), source))
    const isOwnFolder = here.folder === there.folder
    const isNewRoom = here.folder !== here.room && ["src/domain", "src/app", "lab"].includes(here.room ?? "")
    if (here.room === undefined || isNewRoom) {
      return isOwnFolder ? undefined : `${here.folder} has no row in mayImport of scripts/lint-walls.mjs`
    }
    if (there.room === undefined)
      return isPackageFile(source) && here.floor !== "src/domain"
        ? undefined
        : `${here.room} imports nothing outside of ${here.floor.split("/")[0]}`
    const allowed = [here.room, ...(mayImport[here.room] ?? [])]
    if (!allowed.some((pattern) => isOf(there.room ?? "", pattern)))
      return `${here.room} may not import ${there.room} (only ${allowed.join(", ")})`
    const isCommon = there.adapter === commonAdapter
    const foreign =
      here.adapter !== undefined && there.adapter !== undefined && there.adapter !== here.adapter && !isCommon
    return foreign
      ? `the adapter ${here.adapter} may not import the adapter ${there.adapter}: src/app connects them`
      : undefined
  }
  if (here.room === "src/ports" && /^(ws|undici|@kubernetes\/client-node)$/.test(packageOf(source))) {
    return "a port speaks the domain's language, not a library's"
  }
  if (here.floor.startsWith("src") && !isBuiltin(source) && !imagePackages.has(packageOf(source))) {
    return "the image has no such package: package.json names it for development only, or not at all"
  }
  if (here.floor !== "src/domain") return undefined
  if (isBuiltin(source)) return "domain is pure: nothing of Node"
  if (!purePackages.has(packageOf(source))) return "domain is pure: this package is not one of those that only compute"
  const [, module] = source.split("/")
  return packageOf(source) === "effect" && module !== undefined && !pureEffect.has(module)
    ? `domain is pure: effect/${module} does more than compute`
    : undefined
}

/** @param {Node} node @returns {string | undefined} */
const literal = (node) => {
  if (node.type === "Literal" && typeof node.value === "string") return node.value
  if (node.type === "TemplateLiteral" && node.expressions.length === 0) return node.quasis[0]?.value.cooked ?? undefined
  return undefined
}

/**
 * Imports of every form: static, type-only, re-export, dynamic, `import("…")` types and `import x = require("…")`.
 *
 * @param {Context} context @returns {Visitor}
 */
const imports = (context) => {
  /** @param {Node} node @param {Node | null | undefined} source */
  const check = (node, source) => {
    if (source === null || source === undefined) return
    const name = literal(source)
    if (name === undefined) {
      if (place(context.filename).floor === "src/domain")
        context.report({ node, message: "domain imports only what is named in a string" })
      return
    }
    const problem = importProblem(name, context.filename)
    if (problem !== undefined) context.report({ node, message: `import of ${JSON.stringify(name)}: ${problem}` })
  }
  return {
    ImportDeclaration: (node) => {
      check(node, node.source)
      if (place(context.filename).floor !== "src/domain" || node.source.value !== "effect") return
      for (const specifier of node.specifiers) {
        const name =
          specifier.type === "ImportSpecifier" && specifier.imported.type === "Identifier"
            ? specifier.imported.name
            : "*"
        if (!pureEffect.has(name)) {
          context.report({
            node: specifier,
            message: `import of ${name} from "effect": domain is pure, this does more than compute`
          })
        }
      }
    },
    ExportNamedDeclaration: (node) => check(node, node.source),
    ExportAllDeclaration: (node) => check(node, node.source),
    ImportExpression: (node) => check(node, node.source),
    TSImportType: (node) => check(node, node.source),
    TSExternalModuleReference: (node) => check(node, node.expression)
  }
}

/** The name of a member, or `undefined`. @param {Extract<Node, { type: "MemberExpression" }>} member */
const memberOf = ({ computed, property }) => {
  if (computed) return literal(property)
  return property.type === "Identifier" ? property.name : undefined
}

/**
 * The reason why a global is not for the domain, or `undefined`.
 *
 * @param {Reference} reference
 */
const globalProblem = (reference) => {
  const { identifier } = reference
  const name = identifier.name
  const parent = /** @type {Node} */ (identifier.parent)
  const member = parent.type === "MemberExpression" && parent.object === identifier ? memberOf(parent) : undefined
  if (name === "Date") {
    if (member !== undefined && pureDate.has(member)) return undefined
    if (parent.type === "NewExpression" && parent.callee === identifier && parent.arguments.length > 0) return undefined
    if (parent.type === "BinaryExpression" && parent.operator === "instanceof") return undefined
    const use = parent.type === "NewExpression" ? "new Date()" : "Date"
    return `${member === undefined ? use : `Date.${member}`}: time arrives as an argument`
  }
  if (name === "Math") {
    if (member !== undefined && member !== "random") return undefined
    return `Math${member === undefined ? "" : `.${member}`}: randomness arrives as an argument`
  }
  return pureGlobals.has(name) ? undefined : `${name}: domain is pure, this is not part of the language's pure core`
}

/** @param {Context} context @returns {Visitor} */
const pureDomain = (context) => ({
  Program: () => {
    for (const scope of context.sourceCode.scopeManager.scopes) {
      for (const reference of /** @type {ReadonlyArray<Reference>} */ (scope.references)) {
        const known = reference.resolved
        if (reference.isTypeReference || (known !== null && known.defs.length > 0)) continue
        const message = globalProblem(reference)
        if (message !== undefined) context.report({ node: reference.identifier, message })
      }
    }
  },
  MetaProperty: (node) => {
    if (node.meta.name === "import") context.report({ node, message: "import.meta: domain is pure" })
  }
})

export default {
  meta: { name: "walls" },
  rules: { imports: { create: imports }, "pure-domain": { create: pureDomain } }
}
