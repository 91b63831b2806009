# Compiler flags that every target of kvern shares, as one interface library.
#
# -ffp-contract=off is part of the numerics contract (docs/numerics.md): a fused multiply-add happens where the code
# says so and nowhere else. x86-64-v3 (AVX2, FMA) is the oldest x86 that kvern runs on; newer instruction sets are
# chosen at run time, kernel by kernel.
add_library(kvern_flags INTERFACE)
target_compile_options(kvern_flags INTERFACE
  -Wall -Wextra -ffp-contract=off -fno-math-errno
  # g++-12 warns falsely about joined std::strings (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # libstdc++ 12 implements std::stable_sort with a function that C++17 deprecated; clang names it.
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety> $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  $<$<BOOL:${KVERN_WERROR}>:-Werror>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(kvern_flags INTERFACE -march=x86-64-v3 -maes -mpclmul)
  set(KVERN_DISABLED_TARGETS "HWY_SSSE3|HWY_SSE4|HWY_SCALAR|HWY_EMU128")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_options(kvern_flags INTERFACE -march=armv8-a+crypto)
  set(KVERN_DISABLED_TARGETS "HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_SCALAR|HWY_EMU128")
endif()
# Options structs are filled by designated initialisers; members that are not named have their defaults.
target_compile_options(kvern_flags INTERFACE -Wno-missing-field-initializers)
# g++-12 takes the value of a std::expected that holds a string for uninitialised on the path where it was tested; clang
# and the sanitizers look for the real ones.
target_compile_options(kvern_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_include_directories(kvern_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
# -maes -mpclmul and +crypto: Highway counts them to its AVX2 and NEON baselines. The VNNI class target is generated only
# on request; targets without FMA would round differently, and SVE vectors have no size that C++ can store.
target_compile_definitions(kvern_flags INTERFACE HWY_WANT_AVX3_DL
  "HWY_DISABLED_TARGETS=(${KVERN_DISABLED_TARGETS})")
if(KVERN_SANITIZE)
  # Those turned off test every pointer once more where the access itself would fault, or need types that we do not have
  # (virtual bases cast by hand, functions called through another type); they were a third of the time to compile.
  target_compile_options(kvern_flags INTERFACE -fsanitize=${KVERN_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=null,object-size,vptr,function>)
  target_link_options(kvern_flags INTERFACE -fsanitize=${KVERN_SANITIZE})
endif()
if(KVERN_FUZZ)
  target_compile_options(kvern_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_libraries(kvern_flags INTERFACE Threads::Threads)

# Kernels work on what one thread was given alone; without sanitizers in them a whole engine under TSan ends in time.
function(kvern_kernel_sources)
  if(KVERN_SANITIZE AND NOT KVERN_SANITIZE_KERNELS)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-O2")
  endif()
endfunction()

# kvern_add_layer(base SOURCES a.cc b.cc LINK fmt::fmt)  ->  target kvern_base, alias kvern::base
function(kvern_add_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(kvern_${name} STATIC ${ARG_SOURCES})
  add_library(kvern::${name} ALIAS kvern_${name})
  set_target_properties(kvern_${name} PROPERTIES EXPORT_NAME ${name})
  # Installed, a layer brings its libraries and the public headers along; the flags are for building kvern itself.
  target_link_libraries(kvern_${name} PUBLIC $<BUILD_INTERFACE:kvern_flags> Threads::Threads ${ARG_LINK})
  target_include_directories(kvern_${name} INTERFACE $<INSTALL_INTERFACE:include>)
endfunction()
