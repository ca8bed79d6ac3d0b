# Removes what the last `cmake --install` of this build folder has written, and the folders that are then empty and were made for it.
# DESTDIR counts as it does there.
# SPDX-License-Identifier: MIT
if(NOT EXISTS ${MANIFEST})
    message(FATAL_ERROR "nothing was installed from here: there is no ${MANIFEST}")
endif()
file(STRINGS ${MANIFEST} files)
set(folders)
set(removed 0)
foreach(file ${files})
    set(path "$ENV{DESTDIR}${file}")
    if(EXISTS ${path} OR IS_SYMLINK ${path})
        file(REMOVE ${path})
        if(EXISTS ${path} OR IS_SYMLINK ${path})
            message(FATAL_ERROR "${path} cannot be removed")
        endif()
        math(EXPR removed "${removed} + 1")
    endif()
    get_filename_component(folder ${path} DIRECTORY)
    while(folder MATCHES "/fabayes(/|$)") # ours: include/fabayes, lib/cmake/fabayes, share/doc/fabayes
        list(APPEND folders ${folder})
        get_filename_component(folder ${folder} DIRECTORY)
    endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING) # what is inside comes first
foreach(folder ${folders})
    execute_process(COMMAND rmdir ${folder} ERROR_QUIET) # one that holds anything stays
endforeach()
message(STATUS "${removed} files removed")
