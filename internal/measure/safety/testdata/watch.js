// Watches a folder as bundlers do, and ends when it has seen the changes that the test makes, or after a time.
//   node watch.js FOLDER native|poll SECONDS READY
// It makes the file READY as soon as it watches, and prints what it has seen.
const fs = require('fs'), path = require('path'), chokidar = require('chokidar')
const [folder, how, seconds, ready] = process.argv.slice(2)
const wanted = new Set(['add new', 'change changed', 'unlink moved', 'add here', 'unlink removed'])
const began = Date.now()
const end = () => { console.log('missing: ' + [...wanted].join(', ')); process.exit(0) }
const options = { ignoreInitial: true, usePolling: how === 'poll', interval: 200, binaryInterval: 200 }
chokidar.watch(folder, options)
  .on('all', (event, file) => {
    const seen = event + ' ' + path.basename(file)
    if (!wanted.delete(seen)) return
    console.log('seen: ' + seen + ' after ' + (Date.now() - began) + ' ms')
    if (wanted.size === 0) end()
  })
  .on('error', error => { console.log('error: ' + error); process.exit(1) })
  .on('ready', () => { fs.writeFileSync(ready, ''); setTimeout(end, seconds * 1000) })
