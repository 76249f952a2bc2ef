import { mkdirSync, mkdtempSync, writeFileSync, appendFileSync, utimesSync } from "node:fs";
import { openMemory } from "./src/index.ts";
const n = Number(process.argv[2]); const mode = process.argv[3];
const dir = mkdtempSync("/tmp/freshx/w-"); process.env.MEMSLOT_HOME = dir + "/home";
for (let i=0;i<n;i++){ const d=`${dir}/ws/memory/${i%(n/100)}`; mkdirSync(d,{recursive:true}); const f=`${d}/n${i}.md`; writeFileSync(f,`# note ${i}\nproject zephyr${i} code ${i*7}\nalpha beta gamma\n`); utimesSync(f,1e9,1e9);}
const memory = await openMemory({ config: { agents:{defaults:{workspace: dir+"/ws", memorySearch:{provider:"none", sync:{onSearch: mode==="sweep"?"sweep":true}}}}}, agentId:"main", notify:(l)=>console.log("notify",l)});
await memory.sync();
while (memory.status().watch?.mode==="off") await new Promise(r=>setTimeout(r,50));
for (let i=0;i<30;i++){ const c=process.cpuUsage(); const t=performance.now(); const r=await memory.search(`zephyr${i*3}`,{maxResults:1}); const {user,system}=process.cpuUsage(c); if(i<6||i>25) console.log(i,(performance.now()-t).toFixed(1),"cpu",(user+system)/1000, r[0]?.path, JSON.stringify(memory.status().freshness)); if(i===27) appendFileSync(dir+"/ws/memory/0/n0.md","changed heureka\n"); }
await new Promise(r=>setTimeout(r,200));
let ts=[];for (let i=0;i<100;i++){const t=performance.now(); await memory.search(`zephyr${i*3}`,{maxResults:1}); ts.push(performance.now()-t);} ts.sort((a,b)=>a-b); console.log("p50",ts[50].toFixed(2),"p90",ts[90].toFixed(2), memory.status().freshness);
console.log((await memory.search("heureka")).length, process.memoryUsage().rss/1e6);
await memory.close();
