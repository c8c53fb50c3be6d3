/** The published kind BranchDatabase, for databases of any engine. Here it only makes the definition in `crds/`. */

import * as Schema from "effect/Schema"
import { anyBranching } from "../chart-switches.ts"
import type { CustomResource } from "../custom-resource.ts"
import { literals, nullable, open, shortText, uint16 } from "../field-schemas.ts"
import { keptBy } from "../kept-fields.ts"
import { ObjectMeta } from "../object-meta.ts"
import type { WatchedResource } from "../resource-descriptor.ts"
import { KubeResourceTarget } from "../session-shapes.ts"
import {
  allOrNothing,
  branchColumns,
  branchFields,
  BranchStatus,
  copied,
  CopiedParts,
  IamAuth,
  maxArchiveText,
  orderText,
  orderTextMap,
  orderTexts,
  sqlMode
} from "./branch-shapes.ts"

const items = nullable(CopiedParts)

const sqlCopy = copied(
  Schema.Struct({
    mode: sqlMode,
    items,
    dumpArgs: nullable(orderTexts("Further arguments of the engine's dump program."))
  })
)
const documentCopy = copied(Schema.Struct({ mode: allOrNothing, items }))

const iamAuth = nullable(IamAuth)

/** One per engine (published-chart.md §1.8). The published schema lacks `queryParams`, which clients send (§1.15). */
const optionBlocks = {
  postgresOptions: nullable(
    Schema.Struct({
      copy: sqlCopy,
      iamAuth,
      connectionSettings: Schema.optionalKey(orderTextMap("Settings of the connection to the source.")),
      queryParams: nullable(orderTextMap("Query parameters of the connection URL."))
    })
  ),
  mysqlOptions: nullable(Schema.Struct({ copy: sqlCopy, iamAuth })),
  mariadbOptions: nullable(Schema.Struct({ copy: sqlCopy, iamAuth })),
  mssqlOptions: nullable(Schema.Struct({ copy: sqlCopy })),
  clickhouseOptions: nullable(Schema.Struct({ copy: sqlCopy })),
  cockroachdbOptions: nullable(Schema.Struct({ copy: sqlCopy })),
  spannerOptions: nullable(
    Schema.Struct({
      copy: sqlCopy,
      emulatorHostVar: nullable(orderText("Variable by which the application finds an emulator."))
    })
  ),
  mongodbOptions: nullable(Schema.Struct({ copy: documentCopy })),
  dynamodbOptions: nullable(Schema.Struct({ copy: documentCopy, iamAuth })),
  redisOptions: nullable(
    Schema.Struct({
      copy: copied(
        Schema.Struct({
          mode: allOrNothing,
          patterns: nullable(orderTexts("Only keys that match one of these."))
        })
      )
    })
  ),
  genericOptions: nullable(
    Schema.Struct({
      image: orderText("Image of the database."),
      port: uint16("Port that it listens on."),
      command: nullable(orderTexts("Instead of the image's entry point.")),
      args: nullable(orderTexts("Arguments of the command.")),
      env: Schema.optionalKey(orderTextMap("Environment of the container.")),
      readiness: nullable(
        Schema.Struct({
          exec: nullable(Schema.Struct({ command: orderTexts("Ready when this ends with 0.") })),
          httpGet: nullable(
            Schema.Struct({
              path: orderText("Ready when this answers 2xx or 3xx."),
              port: nullable(uint16("If not `port`."))
            })
          )
        }).annotate({ description: "How to see that the database is ready." })
      )
    })
  )
}

const blocks = Object.keys(optionBlocks)

/**
 * `spec` of a branch of any engine (published-chart.md §1.8). The published schema lacks `profile`, which clients send
 * (§1.15).
 */
const BranchDatabaseSpec = Schema.Struct({
  ...branchFields,
  target: KubeResourceTarget,
  version: nullable(orderText("Tag of the engine's image; not together with `image`.")),
  image: nullable(orderText("The image of the database; not together with `version`.")),
  profile: nullable(orderText("Name of a baseline that the operator's branch configuration defines.")),
  migrations: nullable(
    open({
      flavor: literals(["flyway", "container"], "What runs the migrations."),
      archive: nullable(shortText(maxArchiveText, "For Flyway: its files as `tar.gz` in base64.")),
      locations: nullable(orderTexts("For Flyway: where its files are in the image.")),
      image: nullable(orderText("The image that has the files, or the program.")),
      command: nullable(orderTexts("Instead of the image's entry point.")),
      args: nullable(orderTexts("Arguments of the command.")),
      env: nullable(orderTextMap("Environment of the program."))
    }).annotate({
      description: "Run in the branch once it is there, and again when this changes."
    })
  ),
  ...optionBlocks
}).annotate({ description: "What the branch is made of. Exactly one options block must be set." })
export type BranchDatabaseSpec = typeof BranchDatabaseSpec.Type

export const BranchDatabase = Schema.Struct({
  metadata: ObjectMeta,
  spec: BranchDatabaseSpec,
  status: nullable(BranchStatus)
})
/** A database of its own for the sessions that name it, made from a workload's database. */
export type BranchDatabase = typeof BranchDatabase.Type

export const branchDatabases: CustomResource<BranchDatabase> & WatchedResource<BranchDatabase> = {
  group: "dbs.mirrord.metalbear.co",
  version: "v1alpha1",
  kind: "BranchDatabase",
  plural: "branchdatabases",
  scope: "Namespaced",
  schema: BranchDatabase,
  keeps: keptBy(BranchDatabase),
  description: "A branch of a workload's database, of any engine.",
  installedWith: anyBranching,
  columns: branchColumns,
  keepsUnknownFields: true,
  // The published schema accepts both mistakes, and its operator refuses them later (published-chart.md §1.15).
  creationRules: [
    {
      rule: `[${blocks.map((block) => `has(self.${block})`).join(", ")}].exists_one(given, given)`,
      message: `exactly one of these must be set: ${blocks.join(", ")}`
    },
    { rule: "!(has(self.version) && has(self.image))", message: "version and image must not both be set" }
  ]
}
