/**
 * Carries the Containerfile out without a container engine: its instructions over folders of this machine.
 *
 * Not here: the files and variables of the two bases, which only a registry has.
 */

import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { runProgram } from "./run-program.ts"

export interface Instruction {
  readonly name: string
  readonly text: string
}

type Stage = ReadonlyArray<Instruction>

/** The two stages of the Containerfile of a repository. */
export const readContainerfile = (root: string): { readonly build: Stage; readonly final: Stage } => {
  const lines = readFileSync(join(root, "Containerfile"), "utf8")
    .replaceAll(/\\\n\s*/gu, "")
    .split("\n")
  const instructions = lines
    .filter((line) => /^[A-Z]/u.test(line))
    .map((line) => ({ name: line.split(" ")[0] ?? "", text: line.slice(line.indexOf(" ") + 1) }))
  const starts = instructions.flatMap(({ name }, index) => (name === "FROM" ? [index] : []))
  const [build = [], final = []] = starts.map((start, index) => instructions.slice(start, starts[index + 1]))
  return { build, final }
}

/** The texts of all instructions of a name. */
export const all = (stage: Stage, name: string): ReadonlyArray<string> =>
  stage.filter((it) => it.name === name).map(({ text }) => text)

interface Copy {
  readonly flags: ReadonlyArray<string>
  readonly sources: ReadonlyArray<string>
  readonly target: string
}

const copies = (stage: Stage): ReadonlyArray<Copy> =>
  all(stage, "COPY").map((text) => {
    const words = text.split(" ")
    const flags = words.filter((word) => word.startsWith("--"))
    const places = words.slice(flags.length)
    return { flags, sources: places.slice(0, -1), target: places.at(-1) ?? "" }
  })

/** The pairs of an instruction such as `LABEL a="b" c="d"`, in which quotes may be missing. */
const pairs = (stage: Stage, name: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    all(stage, name).flatMap((text) =>
      [...text.matchAll(/([\w.]+)=("(?:[^"\\]|\\.)*"|\S+)/gu)].map(([, key = "", value = ""]) => [
        key,
        value.startsWith('"') ? String(JSON.parse(value)) : value
      ])
    )
  )

/** The statements of the second stage beside its files, by the names of the OCI's image configuration. */
export const configOf = (final: Stage) => ({
  User: all(final, "USER").at(-1),
  WorkingDir: all(final, "WORKDIR").at(-1),
  Entrypoint: JSON.parse(all(final, "ENTRYPOINT").at(-1) ?? "[]") as ReadonlyArray<string>,
  Env: pairs(final, "ENV"),
  Labels: pairs(final, "LABEL"),
  /** Owners of what is copied, as `--chown` names them. */
  owners: copies(final).map(({ flags }) => flags.find((flag) => flag.startsWith("--chown="))?.replace(/^.*=/u, ""))
})

/**
 * Builds the image's own files: the working folder of the first stage is `workshop`, the root of the second `system`.
 */
export const build = async (
  root: string,
  { system, workshop }: { readonly system: string; readonly workshop: string }
) => {
  const { build: first, final } = readContainerfile(root)
  for (const { sources, target } of copies(first)) {
    for (const source of sources)
      cpSync(join(root, source), join(workshop, target.endsWith("/") ? join(target, source) : target), {
        recursive: true
      })
  }
  // In place of `npm ci`.
  symlinkSync(join(root, "node_modules"), join(workshop, "node_modules"))
  const { status, stderr } = await runProgram(process.execPath, ["scripts/build.mjs"], { cwd: workshop })
  if (status !== 0 || stderr !== "") throw new Error(`scripts/build.mjs ended with ${status}:\n${stderr}`)
  const [place = ""] = all(first, "WORKDIR")
  for (const { sources, target } of copies(final)) {
    for (const source of sources) {
      mkdirSync(dirname(join(system, target)), { recursive: true })
      renameSync(join(workshop, source.slice(place.length)), join(system, target))
    }
  }
}
