/** The chart's values that switch features on (published-chart.md §2.11). */

/** Database engines by the names that values and previews use for them. */
export const branchEngines = [
  "pg",
  "mysql",
  "mariadb",
  "mongodb",
  "mssql",
  "redis",
  "dynamodb",
  "spanner",
  "clickhouse",
  "cockroachdb",
  "generic"
] as const
export type BranchEngine = (typeof branchEngines)[number]

const brokers = ["sqs", "rmq", "kafka", "gcpPubsub", "azureServiceBus", "redisPubsub", "temporal", "bullmq"] as const
export type Broker = (typeof brokers)[number]

export const branching = (engine: BranchEngine): string => `operator.${engine}Branching`
export const splitting = (broker: Broker): string => `operator.${broker}Splitting`

export const anyBranching: ReadonlyArray<string> = branchEngines.map(branching)
export const anySplitting: ReadonlyArray<string> = brokers.map(splitting)
export const multiCluster = "operator.multiCluster.enabled"
export const previewEnv = "operator.previewEnv"
