# shellcheck shell=bash
# What suites with vitest have in common.

# with_vitest DIRECTORY DEPENDENCIES ARGUMENTS...: runs tests of a package, which gets these dependencies besides vitest, as
# a text of JSON. Its last lines name the tests that fail, and say how many passed.
with_vitest() {
	local dir=$1 dependencies=$2
	shift 2
	cat >"$dir/reduce.mjs" <<-'JS'
		import { readFileSync, writeFileSync } from 'fs'
		const p = JSON.parse(readFileSync('package.json', 'utf8'))
		delete p.scripts
		p.devDependencies = { vitest: '4.1.10', msw: '2.12.10', dotenv: '16.6.1', 'error-stack-parser-es': '2.0.1' }
		Object.assign(p.dependencies ?? (p.dependencies = {}), JSON.parse(process.argv[2]))
		writeFileSync('package.json', JSON.stringify(p))
	JS
	cat >"$dir/vitest.local.mts" <<-'JS'
		import { existsSync } from 'fs'
		import { defineConfig } from 'vitest/config'
		const setup = ['tests/globalFetchFallback.setup.ts'].filter((f) => existsSync(f))
		export default defineConfig({ test: { include: ['tests/**/*.test.ts'], setupFiles: setup, maxWorkers: 1,
		  testTimeout: 60_000, environment: 'node' } })
	JS
	cat >"$dir/told.mjs" <<-'JS'
		import { readFileSync } from 'fs'
		let passed = 0, of = 0
		for (const file of JSON.parse(readFileSync('results.json', 'utf8')).testResults) {
		  if (!file.assertionResults.length && file.status === 'failed') console.log('not loaded:', file.name, file.message)
		  for (const test of file.assertionResults) {
		    if (['pending', 'skipped', 'todo', 'disabled'].includes(test.status)) continue
		    of++
		    if (test.status === 'passed') passed++
		    else console.log('failed', file.name.replace(/.*\/tests\//, ''), '-', test.fullName)
		  }
		}
		console.log(passed, of)
	JS
	(
		cd "$dir"
		node reduce.mjs "$dependencies"
		npm install --ignore-scripts --no-audit --no-fund --no-package-lock --before 2026-11-29 >npm.log 2>&1 || { cat npm.log; exit 1; }
		timeout 1500 npx vitest run --config vitest.local.mts --reporter=default --reporter=json --outputFile.json=results.json "$@" || :
		node told.mjs
	)
}
