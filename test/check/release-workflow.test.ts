import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { parse } from "yaml"
import { asObject, asObjects, asString, at } from "../../src/domain/json.ts"

const read = (file: string): string => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), "utf8")
const steps = asObjects(at(parse(read(".github/workflows/release.yml")), "jobs", "release", "steps"))
const commands = steps.flatMap(({ run }) => asString(run) ?? []).join("\n")
/** The first group of each match. */
const all = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  [...text.matchAll(pattern)].map(([, found = ""]) => found)

// The forge alone runs the workflow, on the day of a release.
it("the workflow of a release runs scripts that there are", () => {
  const scripts = asObject(asObject(JSON.parse(read("package.json")))["scripts"])
  const named = all(commands, /\bnpm run (?:--silent )?(\S+)/gu)
  expect(named).toContain("release")
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining([...named]))
})

it("the workflow of a release names each action by its commit, which no tag moves", () => {
  const actions = steps.flatMap(({ uses }) => asString(uses) ?? [])
  expect(actions.length).toBeGreaterThan(0)
  expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/u.test(action))).toEqual([])
})

it("the workflow of a release signs all that it pushes, by digest", () => {
  const signed = all(commands, /\bcosign sign --yes "([^"]*)"/gu)
  expect(all(commands, /^ *(skopeo copy|.*helm push) /gmu)).toHaveLength(signed.length)
  expect(signed.filter((name) => !/@(?:sha256:)?\$\w+$/u.test(name))).toEqual([])
})

it("the workflow of a release uses outputs of earlier steps, which these write", () => {
  const used = steps.flatMap((step, index) =>
    all(JSON.stringify(step), /steps\.(\w+\.outputs\.\w+)/gu).map((name) => ({ index, name }))
  )
  expect(used.length).toBeGreaterThan(0)
  for (const { index, name } of used) {
    const [id = "", , output = ""] = name.split(".")
    const writer = steps.slice(0, index).find((step) => step["id"] === id)
    expect(asString(writer?.["run"]), name).toContain(`echo "${output}=`)
  }
})
