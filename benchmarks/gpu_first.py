import sys, time, os
import common, numpy as np, polymargin as pm
import polymargin.gpu.source as source, polymargin.gpu.device as device
from polymargin.gpu.device import *
from polymargin.gpu.source import *
from polymargin.continuation import track, duplicates, Paths
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
import cupy
print(description(), flush=True)
S=pm.TrackerSettings()
def case(name, net, rows, groups, launches=((None,None),), check=2, cachedir='.gpu/bases'):
    b=pm.Boundary.from_network(net,0,1)
    t0=time.time()
    base=base_solutions(b,seed=0,settings=S,threads=16,cache=Cache.from_option(cachedir))
    t1=time.time()
    g=np.random.default_rng(3)
    T=np.array([[*b.reduction.coordinates(x),0] for x in g.normal(size=(rows,b.dimension))],dtype=complex)
    tape=Tape.of(base.program)
    cpu=track(base.program,base.solutions,base.parameters,T[:check],threads=16) if check else None
    print(name,'bases',len(base.solutions),'stage1 %.1f'%(t1-t0),'cpu check %.2f'%(time.time()-t1), flush=True)
    for group in groups:
      for threads, blocks in launches:
        original=source._launch
        def launcher(tape,layout,numbers,coefs):
            th,bl,sh=original(tape,layout,numbers,coefs)
            if threads:
                sh=numbers*(threads//layout.lanes)*16+(coefs*8 if layout.lanes==1 else 0); th=threads
            if blocks: bl=blocks
            return th,bl,sh
        source._launch=launcher
        device._kernels.clear()
        try:
            t=time.time(); k=kernel_for(tape,group); tc=time.time()-t
            p=launch(tape,group,base.solutions,base.parameters,T,S); p.wait()
            times=[]
            for _ in range(3):
                p=launch(tape,group,base.solutions,base.parameters,T,S)
                p.done.synchronize()
                # kernel alone
                p.arrays['next'].fill(0)
                cupy.cuda.Device().synchronize()
                e0,e1=cupy.cuda.Event(),cupy.cuda.Event()
                e0.record(); k.function((k.grid,),(k.source.threads,),(p.arrays['job'],),shared_mem=k.source.shared_bytes); e1.record(); e1.synchronize()
                times.append(cupy.cuda.get_elapsed_time(e0,e1)*1e-3)
            t=time.time(); found=p.wait(); tr=time.time()-t
            paths=Paths(**found)
            n=paths.ends.size
            d=np.abs(paths.points[:check]-cpu.points).max(axis=2)/(1+np.abs(cpu.points).max(axis=2)) if check else np.zeros((0,1))
            ok=paths.converged[:check]&cpu.converged if check else np.zeros((0,1),bool)
            doubled=sum(int(duplicates(paths.points[i][paths.converged[i]]).sum()) for i in range(min(rows,300 if len(base.solutions)<1e5 else 1)))
            rounds=(paths.steps+paths.rejections).mean()
            print(f"{name} group {group} threads {k.source.threads}x{k.source.blocks} regs {k.function.num_regs} local {k.function.local_size_bytes} shared {k.source.shared_bytes} compile {tc:.1f}s paths {n} best {min(times)*1e3:.2f} ms -> {n/min(times):.3e}/s transfer {tr:.2f}s steps+rej {rounds:.1f} ends {dict(zip(*np.unique(paths.ends,return_counts=True)))} vs cpu {d[ok].max(initial=0):.1e} disagree {(ok!=cpu.converged).sum() if check else 0} doubled {doubled}", flush=True)
            del p, found, paths
        except Exception as e:
            print(name,group,threads,blocks,'FAILED',repr(e)[:2000], flush=True)
        source._launch=original
        cupy.get_default_memory_pool().free_all_blocks()
which=sys.argv[1:]
def want(n): return not which or n in which
g=lambda: np.random.default_rng(0)
L=Layout
if want('4,6'): case('(4,6)',common.network(4,[6],3,g()),100000,(THREAD,),((128,3),(64,6),(192,2)))
if want('8,10'): case('(8,10)',common.network(8,[10],3,g()),8000,(THREAD,),((128,2),(256,1)))
if want('att'): case('att',pm.LightningAttention.random(2,2,2,2,seed=1),20000,(THREAD,),((128,2),))
if want('deep'): case('deep 4-4-3',common.network(4,[4,3],2,g()),10000,(THREAD,),((128,2),))
if want('10,12'): case('(10,12)',common.network(10,[12],3,g()),500,(THREAD,L(8,2)),((128,None),))
if want('12,14'): case('(12,14)',common.network(12,[14],3,g()),200,(L(8,2),L(4,3)),((128,2),(128,3)),check=1)
if want('16,18'): case('(16,18)',common.network(16,[18],3,g()),4,(L(8,2),L(16,1)),((128,2),(128,3)),check=1)
if want('20,22'): case('(20,22)',common.network(20,[22],3,g()),1,(L(16,2),L(32,1)),((128,2),(128,4)),check=0)
