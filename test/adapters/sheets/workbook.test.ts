import { inflateRawSync } from "node:zlib"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { workbook } from "../../../src/adapters/sheets/workbook.ts"

/** The parts of a ZIP file, by their local headers. */
const parts = (zip: Buffer): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const header = Buffer.from([0x50, 0x4b, 3, 4])
  for (let at = zip.indexOf(header); at >= 0; at = zip.indexOf(header, at + 4)) {
    const [names, extra] = [zip.readUInt16LE(at + 26), zip.readUInt16LE(at + 28)]
    const body = zip.subarray(at + 30 + names + extra)
    const isStored = zip.readUInt16LE(at + 8) === 0
    const text = isStored ? body.subarray(0, zip.readUInt32LE(at + 18)) : inflateRawSync(body)
    found.set(zip.toString("utf8", at + 30, at + 30 + names), text.toString("utf8"))
  }
  return found
}

it("a workbook has its sheets by name, with texts that are no formulas", async () => {
  const sheets = [
    {
      name: "General",
      rows: [
        ["Metric", "Value"],
        ["users", 3]
      ]
    },
    { name: "Users", rows: [["=1+1", null]] }
  ]
  const made = parts(Buffer.from(await Effect.runPromise(workbook(sheets))))
  expect(made.get("xl/workbook.xml")).toMatch(/name="General".*name="Users"/su)
  expect(made.get("xl/worksheets/sheet1.xml")).toMatch(/<v>3<\/v>/u)
  expect([...made.values()].join("")).not.toContain("<f>")
  expect([...made.values()].join("")).toContain("=1+1")
})
