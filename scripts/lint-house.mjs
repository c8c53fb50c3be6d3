// @ts-check
/**
 * Rules about the text of files, as a lint plugin: lines of at most 120 columns, comments whose sentences begin with
 * their subject and name the actor, a first comment, and regular expressions whose time is linear. `.oxlintrc.json`
 * says where each holds. The formatter cuts neither texts nor comments. scripts/lint-walls.mjs has the imports.
 */

import { growthProblem } from "./regular-expressions.mjs"

/**
 * @import {RuleTester} from "oxlint/plugins-dev"
 * @typedef {Extract<Parameters<RuleTester["run"]>[1], { create: unknown }>} Rule
 *
 * @typedef {Parameters<NonNullable<Rule["create"]>>[0]} Context
 *
 * @typedef {ReturnType<NonNullable<Rule["create"]>>} Visitor
 *
 * @typedef {{ readonly line: number; readonly text: string }} Line
 */

const longest = 120

/** A regular expression cannot be cut, so it may be longer where it stands alone. */
const onlyRegularExpression = /^\s*\/[^/*].*\/[a-z]*,?$/u

/**
 * @param {Context} context
 * @returns {Visitor}
 */
const columns = (context) => ({
  Program: () => {
    for (const [index, text] of context.sourceCode.lines.entries()) {
      if (text.length <= longest || onlyRegularExpression.test(text)) continue
      context.report({
        loc: { start: { line: index + 1, column: longest }, end: { line: index + 1, column: text.length } },
        message: `${text.length} columns, ${longest} are allowed: cut the line, or give its parts names`
      })
    }
  }
})

/**
 * A file's comments, as blocks of lines without their marks. Line comments that follow each other are one block.
 *
 * @param {Context} context
 * @returns {ReadonlyArray<ReadonlyArray<Line>>}
 */
const blocksOf = (context) => {
  /** @type {Line[][]} */
  const blocks = []
  for (const comment of context.sourceCode.getAllComments()) {
    const { line } = comment.loc.start
    const lines = comment.value.split("\n").map((text, index) => ({
      line: line + index,
      text: text.replace(/^\s*\*+\s?/u, "").trim()
    }))
    const last = blocks.at(-1)
    const goesOn = comment.type === "Line" && last?.at(-1)?.line === line - 1
    if (goesOn) last?.push(...lines)
    else blocks.push(lines)
  }
  return blocks
}

/** A place where a sentence begins: after another, or after a tag of JSDoc, a bullet, a name and a colon. */
const beginning = /(?:^|[.:;?!…–][)"'`*]* |^(?:[-*•]|\d+\.|@\w+(?: \{[^}]*\})?(?: [\w.[\]]+ -)?) )["'(*]*$/u
const interrogative = /\b(?:Who|What|Whoever|Whatever|Whose)\b(?=([^.?!]*[.?!]?))/gu

/**
 * Refuses words in comments.
 *
 * @param {RegExp} refused
 * @param {string} cure
 * @returns {(context: Context) => Visitor}
 */
const without = (refused, cure) => (context) => ({
  Program: () => {
    for (const { line, text } of blocksOf(context).flat())
      for (const match of text.replace(/`[^`]*`/gu, "").matchAll(refused))
        context.report({
          loc: { start: { line, column: 0 }, end: { line, column: text.length } },
          message: `${JSON.stringify(match[0].trim())} in a comment: ${cure}`
        })
  }
})

/** Comments in plain English: "`undefined` if …" for a missing value, "report" and "name" for news, "again". */
const words = without(
  /(?:^N|[;,.] [Nn])othing: |; nothing (?:while|where|if|before) |\b(?:told|tells?) of\b|\banew\b/gu,
  'write "`undefined` if", "reports" or "again"'
)

/**
 * Comments that name the actor. `.oxlintrc.json` leaves lab/simulation out, whose comments on the people of its stories
 * do not name them yet.
 */
const actors = without(
  /\b(?:[Ss]omebody|[Nn]obody|[Aa]nybody|[Tt]hat one)\b/gu,
  "name the user, the administrator, the process, the writer or the thing"
)

/**
 * @param {Context} context
 * @returns {Visitor}
 */
const sentences = (context) => ({
  Program: () => {
    for (const block of blocksOf(context)) {
      for (const [index, { line, text }] of block.entries()) {
        const before = block[index - 1]?.text ?? ""
        const isContinued = before !== "" && !/[.:;?!]$/u.test(before) && !/^(?:[-*•@]|\d+\.)/u.test(text)
        for (const match of text.matchAll(interrogative)) {
          const start = text.slice(0, match.index)
          if ((start === "" && isContinued) || !beginning.test(start) || match[1]?.endsWith("?")) continue
          context.report({
            loc: { start: { line, column: 0 }, end: { line, column: text.length } },
            message: `a sentence begins with ${match[0]}: begin it with its subject, the name of the thing`
          })
        }
      }
    }
  }
})

/**
 * @param {Context} context
 * @returns {Visitor}
 */
const heads = (context) => ({
  Program: (node) => {
    const text = context.sourceCode.text.replace(/^#!.*\n/u, "")
    if (!text.startsWith("/**"))
      context.report({ node, message: "the file begins with no comment: say what it is for, and what it is not for" })
  }
})

const cure = "a text of others could stop the program; cut the text first, and look at it by a loop"

/**
 * @param {Context} context
 * @returns {Visitor}
 */
const linear = (context) => {
  /** @type {(node: { readonly callee: { readonly type: string } }) => boolean} */
  const makesExpression = ({ callee }) => callee.type === "Identifier" && "name" in callee && callee.name === "RegExp"
  const made = "a regular expression is made of a text, so nobody can check it here: write it as /…/"
  return {
    Literal: (node) => {
      if (!("regex" in node)) return
      const problem = growthProblem(node.regex.pattern, node.regex.flags)
      if (problem !== undefined)
        context.report({ node, message: `the time of this regular expression may not be linear (${problem}): ${cure}` })
    },
    NewExpression: (node) => {
      if (makesExpression(node)) context.report({ node, message: made })
    },
    CallExpression: (node) => {
      if (makesExpression(node)) context.report({ node, message: made })
    }
  }
}

export default {
  meta: { name: "house" },
  rules: {
    actors: { create: actors },
    columns: { create: columns },
    heads: { create: heads },
    linear: { create: linear },
    sentences: { create: sentences },
    words: { create: words }
  }
}
