/**
 * Objects as the table that `kubectl get` prints: `meta.k8s.io/v1` Table. An API server makes such tables of custom
 * resources by itself; the objects that an aggregated API serves need their own.
 */

import { asObject, at } from "../json.ts"

/** A column. `cell`: its text for one object. */
export interface PrintedColumn<T> {
  readonly name: string
  readonly description: string
  /** Printed by `kubectl get -o wide` alone. */
  readonly isWide?: boolean
  readonly cell: (object: T) => string
}

/** Whether a header `Accept` asks for tables, as `kubectl get` does and programs do not. */
export const wantsTable = (accept: string | undefined): boolean =>
  (accept ?? "").split(",").some((type) => {
    const parameters = type.split(";").map((part) => part.trim())
    return ["as=Table", "g=meta.k8s.io", "v=v1"].every((parameter) => parameters.includes(parameter))
  })

/** The part of an object that its row holds beside the cells; parameter `includeObject` of a request. */
const rowObject = (object: object, includeObject: string | null): object => {
  if (includeObject === "None") return {}
  if (includeObject === "Object") return { object }
  const metadata = asObject(at(object, "metadata"))
  return { object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata } }
}

/** The table of some objects. `includeObject`: as the request has it. */
export const printedTable = <T extends object>(
  columns: ReadonlyArray<PrintedColumn<T>>,
  objects: ReadonlyArray<T>,
  includeObject: string | null
): object => ({
  kind: "Table",
  apiVersion: "meta.k8s.io/v1",
  metadata: { resourceVersion: "0" },
  columnDefinitions: columns.map(({ description, isWide = false, name }) => ({
    name,
    type: "string",
    format: name === "Name" ? "name" : "",
    description,
    priority: isWide ? 1 : 0
  })),
  rows: objects.map((object) => ({
    cells: columns.map(({ cell }) => cell(object)),
    ...rowObject(object, includeObject)
  }))
})
