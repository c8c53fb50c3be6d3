/** The program of a worker process of `npm run simulate`. */

import { doWork } from "./do-work.ts"
import { serveWork } from "./serve-work.ts"

serveWork(doWork)
