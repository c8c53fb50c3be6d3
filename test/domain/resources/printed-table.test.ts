import { describe, expect, it } from "vitest"
import { type PrintedColumn, printedTable, wantsTable } from "../../../src/domain/resources/printed-table.ts"

const columns: ReadonlyArray<PrintedColumn<{ readonly metadata: { readonly name: string } }>> = [
  { name: "Name", description: "Its name.", cell: ({ metadata }) => metadata.name },
  { name: "Why", description: "Why.", isWide: true, cell: () => "because" }
]
const objects = [{ metadata: { name: "a" }, spec: {} }]

describe("the table of objects", () => {
  it.each([
    ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io", true],
    ["application/json, application/json; as=Table; g=meta.k8s.io; v=v1", true],
    ["application/json;as=Table;v=v1beta1;g=meta.k8s.io", false],
    ["application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", false],
    ["application/json", false],
    [undefined, false]
  ])("is wanted by %s: %s", (accept, wanted) => expect(wantsTable(accept)).toBe(wanted))

  it("has a cell for each column, and only wide columns of a lower priority", () => {
    expect(printedTable(columns, objects, null)).toEqual({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: "0" },
      columnDefinitions: [
        { name: "Name", type: "string", format: "name", description: "Its name.", priority: 0 },
        { name: "Why", type: "string", format: "", description: "Why.", priority: 1 }
      ],
      rows: [
        {
          cells: ["a", "because"],
          object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "a" } }
        }
      ]
    })
  })

  it.each([
    ["Object", { object: objects[0] }],
    ["None", {}]
  ])("has rows with what includeObject=%s asks for", (includeObject, row) => {
    expect(printedTable(columns, objects, includeObject)).toMatchObject({ rows: [row] })
    expect(JSON.stringify(printedTable(columns, objects, "None"))).not.toContain("PartialObjectMetadata")
  })
})
