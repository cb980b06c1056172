"""from nothing and further, through the public door"""
import sys, time
import common, numpy as np, polymargin as pm, os
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.regular_ends import regular_ends
from polymargin.enumeration.cache import Cache
from polymargin.boundary import critical_system
for size in sys.argv[1:]:
    n,h=map(int,size.split(','))
    b=pm.Boundary.from_network(common.network(n,[h],3,np.random.default_rng(0)),0,1)
    t=time.time(); s=critical_system(b); print(size,'program %.2f'%(time.time()-t))
    t=time.time(); base=base_solutions(b,seed=0,settings=pm.TrackerSettings(),threads=16,cache=Cache.from_option(False)); print(size,'stage 1 %.2f'%(time.time()-t),len(base.solutions),b.critical_bound,'unjudged',base.unjudged,flush=True)
    for k in range(2):
        x=np.random.default_rng(k).normal(size=n)
        target=np.array([*b.reduction.coordinates(x),0],dtype=complex)
        from polymargin.continuation import track
        t=time.time(); p=track(base.program,base.solutions,base.parameters,target,threads=16); t1=time.time()-t
        t=time.time(); paths,regular=regular_ends(base,target,pm.TrackerSettings(),16); t2=time.time()-t
        print(size,'track %.3f'%t1,'with audit %.3f'%t2,'regular',int(regular.sum()),paths.counts(),flush=True)
