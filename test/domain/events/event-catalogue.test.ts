import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { conditionCatalogue } from "../../../src/domain/catalogue/conditions.ts"
import { eventCatalogue } from "../../../src/domain/events/event-catalogue.ts"

const root = fileURLToPath(new URL("../../../src", import.meta.url))
const sources = globSync("**/*.ts", { cwd: root })
  .filter((file) => !/catalogue\/conditions\.ts$|event-catalogue\.ts$/u.test(file))
  .map((file) => readFileSync(join(root, file), "utf8"))

it.each([
  ["Event", Object.keys(eventCatalogue)],
  ["condition", conditionCatalogue.flatMap(({ reason, type }) => [type, reason])]
])("each %s of the catalogue is recorded by code", (_, names) => {
  expect(names.length).toBeGreaterThan(0)
  expect(names.filter((name) => !sources.some((text) => text.includes(`"${name}"`)))).toEqual([])
})
