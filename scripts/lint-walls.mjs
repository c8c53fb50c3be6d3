// @ts-check
/**
 * The walls of the house as a lint plugin: `src/app → src/adapters → src/ports → src/domain`, and a pure domain. Imports are
 * resolved to files, so that neither a detour (`../../domain/../app`) nor a folder that happens to be called `ports` matters.
 */
import path from "node:path"
import { isBuiltin } from "node:module"

/**
 * @import { RuleTester } from "oxlint/plugins-dev"
 * @typedef {Extract<Parameters<RuleTester["run"]>[1], { create: unknown }>} Rule
 * @typedef {Parameters<NonNullable<Rule["create"]>>[0]} Context
 * @typedef {ReturnType<NonNullable<Rule["create"]>>} Visitor
 * @typedef {Parameters<NonNullable<Visitor["Identifier"]>>[0]["parent"]} Node
 * @typedef {Context["sourceCode"]["scopeManager"]["scopes"][number]["references"][number] & { isTypeReference?: boolean }} Reference
 */

/** The project: the folder above this file's, wherever the linter was started. */
const root = path.dirname(import.meta.dirname)

/** What each room may import from `src`. */
const mayImport = /** @type {Readonly<Record<string, ReadonlyArray<string>>>} */ ({
  domain: ["domain"],
  ports: ["domain", "ports"],
  adapters: ["domain", "ports", "adapters"]
})

/** Packages without input and output, that the domain may use. */
const purePackages = new Set(["effect", "yaml", "ajv", "fast-json-patch"])

/** The parts of Effect that only compute. What runs, waits or reads a clock belongs outside of the domain. */
const pureEffect = new Set(
  `Array BigDecimal BigInt Boolean Brand Chunk Combiner Data Encoding Equal Equivalence Function Graph HashMap HashRing HashSet
  Hash Iterable JsonPatch JsonPointer Match MutableHashMap MutableHashSet MutableList NonEmptyIterable Number Option Order Ordering
  Pipeable Predicate Record RecordUndefined Redacted Reducer RegExp Result Schema SchemaAST SchemaGetter SchemaIssue SchemaParser
  SchemaTransformation String Struct Symbol Trie Tuple UndefinedOr Duration absurd flow hole identity pipe`.split(/\s+/)
)

/** Globals of the language itself. Everything else is the machine's, the clock's or chance. */
const pureGlobals = new Set(
  `AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Error EvalError Float32Array Float64Array
  Infinity Int16Array Int32Array Int8Array Iterator JSON Map NaN Number Object Proxy RangeError ReferenceError Reflect RegExp Set
  String Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array
  Uint8ClampedArray WeakMap WeakSet atob btoa decodeURI decodeURIComponent encodeURI encodeURIComponent isFinite isNaN parseFloat
  parseInt structuredClone undefined arguments`.split(/\s+/)
)

/** Members of these globals that always give the same for the same arguments; for `Math` all but `random`. */
const pureDate = new Set(["parse", "UTC"])

/**
 * Where a file stands in `src`: its room, and for an adapter which one.
 * @param {string} file
 */
const place = (file) => {
  const [src, room = "", inside = ""] = path.relative(root, file).split(path.sep)
  return { inSrc: src === "src", room, adapter: inside.replace(/\.[cm]?[jt]s$/, "") }
}

/** @param {string} source */
const packageOf = (source) => source.split("/").slice(0, source.startsWith("@") ? 2 : 1).join("/")

/**
 * Why a module may not be imported from a room, or `undefined`.
 * @param {string} source @param {string} file
 */
const importProblem = (source, file) => {
  const here = place(file)
  const allowed = mayImport[here.room]
  if (!here.inSrc || allowed === undefined) return undefined
  if (source.startsWith(".") || source.startsWith("/") || source.startsWith("file:")) {
    const there = place(path.resolve(path.dirname(file), source))
    if (!there.inSrc) return `${here.room} imports nothing outside of src`
    if (!allowed.includes(there.room)) return `${here.room} may not import ${there.room} (only ${allowed.join(", ")})`
    const foreign = here.room === "adapters" && there.room === "adapters" && there.adapter !== here.adapter
    return foreign ? `the adapter ${here.adapter} may not import the adapter ${there.adapter}: src/app connects them` : undefined
  }
  if (here.room === "ports" && /^(ws|undici|@kubernetes\/client-node)$/.test(packageOf(source))) {
    return "a port speaks the domain's language, not a library's"
  }
  if (here.room !== "domain") return undefined
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
 * @param {Context} context @returns {Visitor}
 */
const imports = (context) => {
  /** @param {Node} node @param {Node | null | undefined} source */
  const check = (node, source) => {
    if (source === null || source === undefined) return
    const name = literal(source)
    if (name === undefined) {
      const { inSrc, room } = place(context.filename)
      if (inSrc && room === "domain") context.report({ node, message: "domain imports only what is named in a string" })
      return
    }
    const problem = importProblem(name, context.filename)
    if (problem !== undefined) context.report({ node, message: `import of ${JSON.stringify(name)}: ${problem}` })
  }
  return {
    ImportDeclaration: (node) => {
      check(node, node.source)
      const { inSrc, room } = place(context.filename)
      if (!inSrc || room !== "domain" || node.source.value !== "effect") return
      for (const specifier of node.specifiers) {
        const name =
          specifier.type === "ImportSpecifier" && specifier.imported.type === "Identifier" ? specifier.imported.name : "*"
        if (!pureEffect.has(name)) {
          context.report({ node: specifier, message: `import of ${name} from "effect": domain is pure, this does more than compute` })
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

/**
 * Why a global is not for the domain, or `undefined`.
 * @param {Reference} reference
 */
const globalProblem = (reference) => {
  const { identifier } = reference
  const name = identifier.name
  const parent = /** @type {Node} */ (identifier.parent)
  const member =
    parent.type === "MemberExpression" && parent.object === identifier
      ? parent.computed
        ? literal(parent.property)
        : parent.property.type === "Identifier"
          ? parent.property.name
          : undefined
      : undefined
  if (name === "Date") {
    if (member !== undefined && pureDate.has(member)) return undefined
    if (parent.type === "NewExpression" && parent.callee === identifier && parent.arguments.length > 0) return undefined
    if (parent.type === "BinaryExpression" && parent.operator === "instanceof") return undefined
    const what = member !== undefined ? `Date.${member}` : parent.type === "NewExpression" ? "new Date()" : "Date"
    return `${what}: time arrives as an argument`
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
