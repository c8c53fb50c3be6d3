import { realClientCases } from "./client-cases.ts"

realClientCases("primary-default", 80)
